"""A span has the same bytes, be it the first one of its kind or a later one, or one that fits no kind."""

from __future__ import annotations

from typing import Any

import pytest

from swagent.pipeline.encoder import Encoder
from swagent.pipeline.span_writer import SpanWriter
from swagent.record.trace.model import Component, Layer, Reference, RefKind, SpanKind
from swagent.record.trace.span import Span
from swagent_proto import wire

NOW = 1_700_000_000.123
REFERENCE = Reference(RefKind.CROSS_THREAD, "trace-1", "segment-9", 2, "shop", "one", "/job", "")


def make_span(number: int = 1, **fields: Any) -> Span:
    span = Span("PostgreSQL/query", SpanKind.EXIT, "db:5432", Layer.DATABASE, Component.ASYNCPG)
    span.tags = [("db.type", "PostgreSQL"), ("db.statement", "SELECT 'ö'")]
    span.id, span.parent_id, span.start_time, span.end_time = number, 0, NOW + number, NOW + number + 0.25
    for name, value in fields.items():
        setattr(span, name, value)
    return span


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"failed": True},
        {"peer": "", "tags": []},
        {"id": 0, "parent_id": -1, "kind": SpanKind.ENTRY},
        {"id": 511, "parent_id": 300},
        {"tags": [("long", "x" * 2000)]},
        {"refs": (REFERENCE,)},
        {"logs": [(NOW, [("event", "error")])]},
        {"layer": 99, "component": -5},
        {"start_time": 0.0},
        {"end_time": NOW - 5},
        {"name": "läuft\nnicht"},
    ],
)
def test_the_bytes_do_not_depend_on_what_was_written_before(fields: dict[str, Any]) -> None:
    used = Encoder("protobuf")
    written = [used._span(make_span(number, **fields)) for number in (1, 2, 3)]
    expected = [Encoder("protobuf")._write_span(make_span(number, **fields)) for number in (1, 2, 3)]
    assert written == expected


def test_a_kind_is_written_once() -> None:
    encoder = Encoder("protobuf")
    asked: list[Span] = []

    def write(span: Any) -> bytes:
        asked.append(span)
        return bytes(encoder._write_span(span))

    writer = SpanWriter(write, wire.span_object, encoder.times)
    for number in range(5):
        writer(make_span(number))
    assert len(asked) == 1
    # a failed one is of another kind
    writer(make_span(failed=True))
    assert len(asked) == 2


def test_the_kinds_are_bounded() -> None:
    encoder = Encoder("protobuf")
    writer = SpanWriter(encoder._write_span, wire.span_object, encoder.times)
    for number in range(3000):
        writer(make_span(name=f"query {number}"))
    assert len(writer._rests) <= 1024
    kept = len(writer._rests)
    writer(make_span(tags=[("long", "x" * 1000)]))
    assert len(writer._rests) == kept
