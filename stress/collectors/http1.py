"""An HTTP/1.1 collector that counts the records of JSON arrays and decodes nothing.

Records are counted by the one key that each of them has once. Requests have a Content-Length: all measured clients
say it.
"""

from __future__ import annotations

import asyncio
import re
from typing import cast

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
# what each record has exactly once, by the path it is sent to
_KEYS = {"/v3/segments": b'"traceSegmentId"', "/v3/segment": b'"traceSegmentId"', "/v3/logs": b'"timestamp"'}
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


class HttpCollector(asyncio.Protocol):
    """One connection. Every call is confirmed, after a wait."""

    def __init__(self, counts: dict[str, int], wait: float) -> None:
        self._counts = counts
        self._wait = wait
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one by its methods only

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        while (head := buffer.find(b"\r\n\r\n")) >= 0:
            found = _LENGTH.search(buffer, 0, head + 2)
            end = head + 4 + (int(found[1]) if found else 0)
            if len(buffer) < end:
                return
            self._take(bytes(buffer[:head]).split(b" ", 2)[1].decode(), buffer[head + 4 : end])
            del buffer[:end]

    def _take(self, path: str, body: bytearray) -> None:
        key = _KEYS.get(path)
        if key is not None:
            # a segment's references name other segments by another key: parentTraceSegmentId
            self._counts[path] = self._counts.get(path, 0) + body.count(key)
        if self._wait:
            asyncio.get_running_loop().call_later(self._wait, self._confirm)
        else:
            self._confirm()

    def _confirm(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(_ANSWER)
