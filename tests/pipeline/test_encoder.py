"""A finished segment becomes bytes that say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swagent.agent_log import RateLimitedLog
from swagent.pipeline import encoder
from swagent.pipeline.encoder import Encoder
from swagent.record.bounded_cache import BoundedCache
from swagent.record.trace.model import Component, Layer, Reference, RefKind, SpanKind, SpanRecord
from swagent.record.trace.segment import Segment
from swagent.record.trace.span import Span
from swagent.record.trace.tracer import Tracer
from swagent_proto.messages import SegmentObject, SpanLayer, SpanType

START = 1_700_000_000.123
FROM_UPSTREAM = Reference(
    RefKind.CROSS_PROCESS, "trace-1", "segment-0", 7, "upstream", "instance-0", "GET:/cart", "shop:80"
)
FROM_A_TASK = Reference(RefKind.CROSS_THREAD, "trace-1", "segment-9", 2, "shop", "one", "/job", "")


def span(name: str, kind: SpanKind, number: int, parent: int) -> Span:
    one = Span(name, kind)
    one.id, one.parent_id = number, parent
    one.start_time, one.end_time = START + number, START + number + 0.25
    return one


def full_segment(start: float = START) -> Segment:
    """A segment in which every field of every message has a value."""
    tracer = Tracer("shop", "one", lambda _: None)
    entry = span("GET:/örder", SpanKind.ENTRY, 0, -1)
    entry.layer, entry.component = Layer.HTTP, Component.FASTAPI
    entry.refs = (FROM_UPSTREAM, FROM_A_TASK)
    entry.tags = [("http.method", "GET"), ("note", 'quote " and \n line')]
    entry.start_time = start
    leaving = span("GET:/price", SpanKind.EXIT, 1, 0)
    leaving.peer, leaving.failed = "prices:443", True
    leaving.logs = [(START + 0.5, [("event", "error"), ("message", "läuft nicht")])]
    segment = Segment(tracer, entry, "trace-1")
    segment.id = "segment-1"
    segment.limited = True
    segment.spans = [leaving, entry]
    return segment


def finished(start: float = START) -> tuple[Segment, list[SpanRecord]]:
    """As an encoder gets it."""
    segment = full_segment(start)
    return segment, segment.spans


def test_protobuf_says_everything() -> None:
    decoded = SegmentObject().parse(Encoder("protobuf").segment(finished()))
    assert (decoded.trace_id, decoded.trace_segment_id) == ("trace-1", "segment-1")
    assert (decoded.service, decoded.service_instance, decoded.is_size_limited) == ("shop", "one", True)
    leaving, entry = decoded.spans
    assert (entry.span_id, entry.parent_span_id, entry.start_time, entry.end_time) == (
        0, -1, 1_700_000_000_123, 1_700_000_000_373,
    )  # fmt: skip
    assert (entry.operation_name, entry.span_type, entry.span_layer) == ("GET:/örder", SpanType.Entry, SpanLayer.Http)
    assert entry.component_id == Component.FASTAPI
    assert [(tag.key, tag.value) for tag in entry.tags] == [("http.method", "GET"), ("note", 'quote " and \n line')]
    assert [
        (
            Reference(
                RefKind(each.ref_type), each.trace_id, each.parent_trace_segment_id, each.parent_span_id,
                each.parent_service, each.parent_service_instance, each.parent_endpoint,
                each.network_address_used_at_peer,
            )
        )
        for each in entry.refs
    ] == [FROM_UPSTREAM, FROM_A_TASK]  # fmt: skip
    assert (leaving.span_type, leaving.peer, leaving.is_error, leaving.parent_span_id) == (
        SpanType.Exit, "prices:443", True, 0,
    )  # fmt: skip
    assert [(log.time, [(each.key, each.value) for each in log.data]) for log in leaving.logs] == [
        (1_700_000_000_623, [("event", "error"), ("message", "läuft nicht")])
    ]


def test_json_says_the_same() -> None:
    encoded = Encoder("json").segment(finished())
    assert SegmentObject().from_json(encoded) == SegmentObject().parse(Encoder("protobuf").segment(finished()))
    leaving, entry = json.loads(encoded)["spans"]
    assert "spanType" not in entry, "Entry is the first of its enum, which JSON leaves out"
    assert (leaving["spanType"], entry["spanLayer"]) == ("Exit", "Http")
    assert [each.get("refType") for each in entry["refs"]] == [None, "CrossThread"]
    assert (entry["parentSpanId"], int(entry["startTime"])) == (-1, 1_700_000_000_123)


@pytest.mark.parametrize("codec", ["protobuf", "json"])
def test_lone_surrogates_from_an_application_do_not_hinder(codec: Any) -> None:
    segment = full_segment()
    segment.spans[0].tags.append(("broken", "\ud800"))
    assert Encoder(codec).segment((segment, segment.spans))


@pytest.mark.parametrize("codec", ["protobuf", "json"])
@pytest.mark.parametrize("start", [float("nan"), float("inf"), 1e300])
def test_a_number_that_does_not_fit_fails_alone(codec: Any, start: float) -> None:
    encoder = Encoder(codec)
    with pytest.raises((ValueError, OverflowError)):
        encoder.segment(finished(start))
    assert encoder.segment(finished())


class Unhashable(int):
    __hash__ = None  # type: ignore[assignment]


ODD = ["HTTP", 99, -1, 2**31, 10**30, 1.5, None, [], object(), Unhashable(99)]


@pytest.mark.parametrize("odd", ODD, ids=[f"{number} {type(each).__name__}" for number, each in enumerate(ODD)])
@pytest.mark.parametrize("codec", ["protobuf", "json"])
def test_an_odd_layer_and_component_cost_no_segment(codec: Any, odd: Any) -> None:
    segment, spans = finished()
    spans[0].layer = odd
    spans[1].component = odd
    encoded = Encoder(codec).segment((segment, spans))
    decoded = SegmentObject().parse(encoded) if codec == "protobuf" else SegmentObject().from_json(encoded)
    leaving, entry = decoded.spans
    assert leaving.span_layer == Layer.UNKNOWN
    assert entry.span_layer == Layer.HTTP, "what is right stays"
    # any number may be a component's
    assert entry.component_id == (99 if odd == 99 else Component.UNKNOWN)


def test_a_number_is_a_layer_and_a_component_too() -> None:
    segment, spans = finished()
    spans[1].layer, spans[1].component = 1, 9999
    entry = SegmentObject().parse(Encoder("protobuf").segment((segment, spans))).spans[1]
    assert (entry.span_layer, entry.component_id) == (SpanLayer.Database, 9999)


def test_an_odd_layer_is_complained_of_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "_limited", RateLimitedLog())
    monkeypatch.setattr(encoder, "_KINDS", BoundedCache(encoder._kind))  # no other test has met it there
    segment, spans = finished()
    spans[0].layer = 77
    for _ in range(3):
        Encoder("protobuf").segment((segment, spans))
    [record] = [record for record in caplog.records if record.name == "swagent"]
    assert record.levelname == "WARNING"
