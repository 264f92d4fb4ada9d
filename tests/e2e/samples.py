"""Records as an agent would send them, small, and fresh on every call."""

from __future__ import annotations

import time
import uuid

from swagent_proto.messages import (
    KeyStringValuePair,
    MeterData,
    MeterSingleValue,
    SegmentObject,
    SpanLayer,
    SpanObject,
    SpanType,
)

# by string, because type checkers take the members themselves for plain integers
ENTRY, HTTP = SpanType.from_string("Entry"), SpanLayer.from_string("Http")
FASTAPI = 7014


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def unique(prefix: str) -> str:
    """A name that no other test's data carries: the servers are shared."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def instance(service: str) -> str:
    return f"{service}@host"


def segment(service: str, operation: str = "GET:/hello") -> SegmentObject:
    """A served request: one entry span with a status tag."""
    now = now_ms()
    span = SpanObject(
        span_id=0,
        parent_span_id=-1,
        start_time=now - 25,
        end_time=now,
        operation_name=operation,
        span_type=ENTRY,
        span_layer=HTTP,
        component_id=FASTAPI,
        tags=tags({"http.method": "GET", "http.status_code": "200"}),
    )
    return SegmentObject(
        trace_id=uuid.uuid4().hex,
        trace_segment_id=uuid.uuid4().hex,
        spans=[span],
        service=service,
        service_instance=instance(service),
    )


def gauge(service: str, name: str, value: float) -> MeterData:
    return MeterData(
        single_value=MeterSingleValue(name=name, value=value),
        service=service,
        service_instance=instance(service),
        timestamp=now_ms(),
    )


def tags(items: dict[str, str]) -> list[KeyStringValuePair]:
    return [KeyStringValuePair(key=key, value=value) for key, value in items.items()]
