"""The counting collectors count what came whole, also of what was broken off."""

from __future__ import annotations

import asyncio
from typing import Any

from hpack import Encoder

from stress.collectors.http2 import GrpcCollector, count_messages
from stress.collectors.otlp import count_records

_PATH = "/skywalking.v3.TraceSegmentReportService/collect"


class Deaf(asyncio.Transport):
    """Takes what is written."""

    def write(self, data: Any) -> None: ...

    def is_closing(self) -> bool:
        return False


def _message(body: bytes) -> bytes:
    return b"\0" + len(body).to_bytes(4, "big") + body


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


def _collector() -> tuple[GrpcCollector, dict[str, int]]:
    counts: dict[str, int] = {}
    collector = GrpcCollector(counts, 0.0)
    collector.connection_made(Deaf())
    collector.data_received(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    return collector, counts


def _open(stream: int) -> bytes:
    return _frame(1, 0x4, stream, Encoder().encode([(":path", _PATH)]))


def test_half_a_message_is_none() -> None:
    whole = _message(b"one") + _message(b"")
    assert count_messages(b"", bytearray(whole)) == 2
    for end in range(1, 5 + 4):
        assert count_messages(b"", bytearray(whole + _message(b"half")[:end])) == 2


def test_a_stream_that_its_connection_takes_along_counts_by_what_came() -> None:
    collector, counts = _collector()
    collector.data_received(_open(1) + _frame(0, 0, 1, _message(b"one") + _message(b"two") + _message(b"three")[:-1]))
    assert counts == {}
    collector.connection_lost(None)
    assert counts == {_PATH: 2}


def test_a_stream_that_is_reset_counts_once() -> None:
    collector, counts = _collector()
    collector.data_received(_open(1) + _frame(0, 0, 1, _message(b"one")) + _frame(3, 0, 1, bytes(4)))
    collector.connection_lost(None)
    assert counts == {_PATH: 1}


def test_a_stream_that_ended_is_not_counted_again_with_its_connection() -> None:
    collector, counts = _collector()
    collector.data_received(_open(1) + _frame(0, 0x1, 1, _message(b"one")))
    collector.connection_lost(None)
    assert counts == {_PATH: 1}


def test_spans_of_half_a_request_are_none() -> None:
    span = b"\x12\x02\x0a\x00"
    scope = b"\x12" + bytes([2 * len(span)]) + 2 * span
    request = _message(b"\x0a" + bytes([len(scope)]) + scope)
    assert count_records(b"/trace", bytearray(request)) == 2
    assert count_records(b"/trace", bytearray(request[:-1])) == 0
    assert count_records(b"/trace", bytearray()) == 0
