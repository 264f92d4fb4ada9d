"""A gRPC collector that counts length prefixes and decodes nothing.

It reads HTTP/2 by hand, since it must be several times as fast as what it measures: frame headers, of HEADERS the path,
of DATA the lengths. Answers are constant bytes. Windows are as large as they go, so that flow control never holds a
sender up. RFC 9113; no padding, no continuation, no priority: none of the measured clients sends them.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import cast

from hpack import Decoder

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
_END_STREAM, _ACK, _PADDED, _PRIORITY = 0x1, 0x1, 0x8, 0x20
_MOST = 2**31 - 1
_FRAME = struct.Struct(">IBI")  # length and type in the first word
_PREFIX = struct.Struct(">I")
_PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return _FRAME.pack(len(body) << 8 | kind, flags, stream) + body


def _literal(name: bytes, value: bytes) -> bytes:
    """A header field without indexing (RFC 7541, 6.2.2)."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


_GREETING = (
    _frame(_SETTINGS, 0, 0, struct.pack(">HIHI", 0x4, _MOST, 0x3, 10_000))
    + _frame(_WINDOW_UPDATE, 0, 0, _PREFIX.pack(_MOST - 65_535))
)  # fmt: skip
_HEAD = _literal(b":status", b"200") + _literal(b"content-type", b"application/grpc")
_TRAILERS = _literal(b"grpc-status", b"0")
_EMPTY_MESSAGE = bytes(5)

Count = Callable[[bytes, bytearray], int]
"""Counts the records of one request, by its path and its body."""


def count_messages(_: bytes, body: bytearray) -> int:
    """How many length-prefixed messages a request's body holds; half a message at its end is none."""
    found = position = 0
    while position + 5 <= len(body):
        position += 5 + _PREFIX.unpack_from(body, position + 1)[0]
        found += position <= len(body)
    return found


class GrpcCollector(asyncio.Protocol):
    """One connection. Every call is confirmed, after a wait. A call that is broken off counts by what came whole, as
    collectors work on each message of a stream at once."""

    def __init__(self, counts: dict[str, int], wait: float, count: Count = count_messages) -> None:
        self._counts = counts
        self._wait = wait
        self._count = count
        self._buffer = bytearray()
        self._greeted = False
        self._decoder = Decoder()
        self._calls: dict[int, tuple[bytes, bytearray]] = {}
        self._taken = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one by its methods only
        self._transport.write(_GREETING)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        for stream in list(self._calls):
            self._take_account(stream)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        position = 0
        if not self._greeted:
            if len(buffer) < _PREFACE:
                return
            position, self._greeted = _PREFACE, True
        while len(buffer) - position >= 9:
            word, flags, stream = _FRAME.unpack_from(buffer, position)
            end = position + 9 + (word >> 8)
            if end > len(buffer):
                break
            self._take(word & 0xFF, flags, stream, memoryview(buffer)[position + 9 : end])
            position = end
        del buffer[:position]

    def _take(self, kind: int, flags: int, stream: int, body: memoryview) -> None:
        if kind == _DATA:
            self._calls[stream][1].extend(body)
            self._replenish(len(body))
            if flags & _END_STREAM:
                self._end(stream)
        elif kind == _HEADERS:
            assert not flags & (_PADDED | _PRIORITY), "a client that pads or prioritises is not expected here"
            path = next(value for name, value in self._decoder.decode(bytes(body), raw=True) if name == b":path")
            self._calls[stream] = (path, bytearray())
        elif kind == _SETTINGS and not flags & _ACK:
            self._write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            self._write(_frame(_PING, _ACK, 0, bytes(body)))
        elif kind == _RST_STREAM and stream in self._calls:
            self._take_account(stream)

    def _replenish(self, size: int) -> None:
        self._taken += size
        if self._taken > _MOST // 2:
            self._write(_frame(_WINDOW_UPDATE, 0, 0, _PREFIX.pack(self._taken)))
            self._taken = 0

    def _take_account(self, stream: int) -> None:
        path, body = self._calls.pop(stream)
        name = path.decode()
        self._counts[name] = self._counts.get(name, 0) + self._count(path, body)

    def _end(self, stream: int) -> None:
        self._take_account(stream)
        if self._wait:
            asyncio.get_running_loop().call_later(self._wait, self._confirm, stream)
        else:
            self._confirm(stream)

    def _confirm(self, stream: int) -> None:
        self._write(
            _frame(_HEADERS, 0x4, stream, _HEAD)
            + _frame(_DATA, 0, stream, _EMPTY_MESSAGE)
            + _frame(_HEADERS, 0x4 | _END_STREAM, stream, _TRAILERS)
        )

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)
