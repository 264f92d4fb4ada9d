"""A collector's gRPC: HTTP/2 by hand, as much as a client of ours needs."""

from __future__ import annotations

import struct

from hpack import Decoder

from .collector import Answer, Call, Collector, numbers_in
from .network import Link

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS = 0x1, 0x1, 0x4
_REFUSED_STREAM = 7
_PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
_HEAD = struct.Struct(">IBI")  # length and type in the first word
_STATUS: dict[Answer, int] = {"ok": 0, "error": 14, "busy": 8, "refused": 3, "forbidden": 7, "unknown": 12}


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return _HEAD.pack(len(body) << 8 | kind, flags, stream) + body


def _literal(name: bytes, value: bytes) -> bytes:
    """A header field without indexing (RFC 7541, 6.2.2)."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


_FIELDS = _literal(b":status", b"200") + _literal(b"content-type", b"application/grpc")


class GrpcSession:
    """One connection."""

    def __init__(self, collector: Collector, link: Link) -> None:
        self._collector = collector
        self._link = link
        self._buffer = bytearray()
        self._is_greeted = False
        self._decoder = Decoder()
        self._calls: dict[int, tuple[str, bytearray]] = {}
        self._taken = 0
        self._is_leaving = False
        # a few calls at once, as servers have it, and windows that a batch can fill
        settings = struct.pack(">HIHI", 0x3, 100, 0x4, 65_535)
        link.back.write(_frame(_SETTINGS, 0, 0, settings))

    def feed(self, data: bytes) -> None:
        """Take bytes, and each frame that is complete."""
        self._buffer += data
        if not self._is_greeted:
            if len(self._buffer) < _PREFACE:
                return
            self._is_greeted = True
            del self._buffer[:_PREFACE]
        while len(self._buffer) >= _HEAD.size:
            word, flags, stream = _HEAD.unpack_from(self._buffer)
            end = _HEAD.size + (word >> 8)
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            self._take(word & 0xFF, flags, stream, body)

    def end(self) -> None:
        """The streams that are open break off."""
        for stream in list(self._calls):
            self._break_off(stream)

    def _take(self, kind: int, flags: int, stream: int, body: bytes) -> None:
        if kind == _DATA and stream in self._calls:
            self._calls[stream][1].extend(body)
            if body:
                grown = len(body).to_bytes(4, "big")
                self._link.back.write(_frame(_WINDOW_UPDATE, 0, 0, grown) + _frame(_WINDOW_UPDATE, 0, stream, grown))
            if flags & _END_STREAM:
                self._end_stream(stream)
        elif kind == _HEADERS:
            fields = dict(self._decoder.decode(body, raw=True))
            if not self._is_leaving:
                self._calls[stream] = (fields[b":path"].decode(), bytearray())
        elif kind == _SETTINGS and not flags & _ACK:
            self._link.back.write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            self._link.back.write(_frame(_PING, _ACK, 0, body))
        elif kind == _RST_STREAM and stream in self._calls:
            self._break_off(stream)

    def _break_off(self, stream: int) -> None:
        _, body = self._calls.pop(stream)
        self._collector.take_part(numbers_in(_whole_messages(body)))

    def _end_stream(self, stream: int) -> None:
        path, body = self._calls.pop(stream)
        answer = self._collector.take(Call(path, numbers_in(bytes(body)), lambda answer: self._reply(stream, answer)))
        if answer == "goaway":
            self._is_leaving = True
            for each in list(self._calls):
                if each > self._taken:
                    del self._calls[each]
        elif answer != "unprocessed":
            self._taken = max(self._taken, stream)

    def _reply(self, stream: int, answer: Answer) -> None:
        back = self._link.back
        if answer == "reset":
            self._link.reset()
        elif answer == "garbage":
            back.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)
        elif answer == "unprocessed":
            back.write(_frame(_RST_STREAM, 0, stream, _REFUSED_STREAM.to_bytes(4, "big")))
        elif answer == "goaway":
            # this stream was not processed, and neither were those above the last one that was
            if stream < self._taken:
                back.write(_frame(_RST_STREAM, 0, stream, _REFUSED_STREAM.to_bytes(4, "big")))
            back.write(_frame(_GOAWAY, 0, 0, struct.pack(">II", self._taken, 0)))
        else:
            status = _literal(b"grpc-status", str(_STATUS[answer]).encode())
            message = b"" if _STATUS[answer] else _frame(_DATA, 0, stream, bytes(5))
            head = _frame(_HEADERS, _END_HEADERS, stream, _FIELDS)
            back.write(head + message + _frame(_HEADERS, _END_HEADERS | _END_STREAM, stream, status))


def _whole_messages(body: bytes | bytearray) -> bytes:
    """The messages that came whole."""
    end = 0
    while end + 5 <= len(body):
        upto = end + 5 + int.from_bytes(body[end + 1 : end + 5], "big")
        if upto > len(body):
            break
        end = upto
    return bytes(body[:end])
