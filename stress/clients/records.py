"""Records like those that the agent ships."""

from __future__ import annotations

import json

BATCH = 512
IN_FLIGHT = 4
"""How many batches are under way at the same time, as in the agent."""
_SPAN = {
    "operationName": "/orders/{id}", "startTime": 1_700_000_000_000, "endTime": 1_700_000_000_017, "spanId": 0,
    "parentSpanId": -1, "spanType": "Entry", "spanLayer": "Http", "componentId": 7014, "isError": False, "peer": "",
    "tags": [{"key": f"key {number}", "value": f"value {number}"} for number in range(3)],
}  # fmt: skip
# as long as a three-span segment in protobuf
BINARY = bytes(range(256)) * 2
TEXT = json.dumps({"traceId": "t" * 36, "traceSegmentId": "s" * 36, "service": "stress", "serviceInstance": "one",
                   "isSizeLimited": False, "spans": [_SPAN] * 3}, separators=(",", ":")).encode()  # fmt: skip
