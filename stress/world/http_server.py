"""A collector's HTTP/1.1."""

from __future__ import annotations

import re

from .collector import Answer, Call, Collector, numbers_in
from .network import Link

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_STATUS: dict[Answer, str] = {
    "ok": "200 OK", "error": "500 Internal Server Error", "busy": "503 Service Unavailable",
    "refused": "400 Bad Request", "forbidden": "403 Forbidden", "unknown": "404 Not Found",
    "unprocessed": "429 Too Many Requests",
    "goaway": "302 Found",
}  # fmt: skip


class HttpSession:
    """One connection."""

    def __init__(self, collector: Collector, link: Link) -> None:
        self._collector = collector
        self._link = link
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take bytes, and each request that is complete."""
        self._buffer += data
        while (head := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer, 0, head + 2)
            end = head + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < end:
                return
            path = bytes(self._buffer[:head]).split(b" ", 2)[1].decode()
            numbers = numbers_in(bytes(self._buffer[head:end]))
            del self._buffer[:end]
            self._collector.take(Call(path, numbers, self._reply))

    def end(self) -> None:
        """What is incomplete is nothing: JSON cannot be read in part."""

    def _reply(self, answer: Answer) -> None:
        if answer == "reset":
            self._link.reset()
        elif answer == "garbage":
            self._link.back.write(b"\x00\x01 what is this?\r\n\r\n")
            self._link.back.close()
        else:
            head = f"HTTP/1.1 {_STATUS[answer]}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
            self._link.back.write(head.encode())
