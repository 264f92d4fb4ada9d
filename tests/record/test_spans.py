"""Spans and the segments that they make: who is whose parent, and when a segment is finished."""

from __future__ import annotations

import contextvars

from hypothesis import given
from hypothesis import strategies as st

from swagent import Span, current_span, current_trace_id, entry_span, exit_span, local_span
from swagent.record.trace.model import Component, Layer, RefKind, SpanKind

from .clocks import spans_by
from .recorded import INSTANCE, SERVICE, Recorder, in_a_thread, recording, work


def test_nested_spans_make_one_segment(recorder: Recorder) -> None:
    with entry_span("request"):
        with local_span("price"), exit_span("query", "db:5432"):
            pass
        work("render")
    assert recorder.only.names == ["request", "price", "query", "render"]
    assert [recorder.parent_of(name) for name in recorder.only.names] == [None, "request", "price", "request"]
    assert [recorder.span(name).parent_id for name in ("request", "price")] == [-1, 0]


def test_each_kind_of_span_says_what_it_is(recorder: Recorder) -> None:
    with (
        entry_span("request", component=Component.FASTAPI, layer=Layer.HTTP) as entry,
        local_span("price") as local,
        exit_span("query", "db:5432", layer=Layer.DATABASE) as out,
    ):
        assert recorder.segments == []
    assert recorder.only.spans == [out, local, entry]
    assert (entry.kind, entry.component, entry.layer, entry.peer) == (SpanKind.ENTRY, 7014, 3, "")
    assert (local.kind, local.component, local.layer, local.peer) == (SpanKind.LOCAL, 0, 0, "")
    assert (out.kind, out.component, out.layer, out.peer) == (SpanKind.EXIT, 0, 1, "db:5432")


def test_any_kind_of_span_can_begin_a_trace(recorder: Recorder) -> None:
    for span in (entry_span("entry"), local_span("local"), exit_span("exit", "db:5432")):
        with span:
            pass
    assert recorder.names == [["entry"], ["local"], ["exit"]]
    assert len({segment.trace_id for segment in recorder.segments}) == 3


def test_the_innermost_span_is_the_current_one(recorder: Recorder) -> None:
    assert current_span() is None
    assert current_trace_id() == ""
    with entry_span("request") as request:
        with local_span("price") as price:
            assert current_span() is price
            assert current_trace_id() == request.trace_id != ""
        assert current_span() is request
    assert current_span() is None


def test_a_segment_is_finished_when_its_last_span_ends(recorder: Recorder) -> None:
    request = entry_span("request").start()
    price = local_span("price").start()
    request.stop()
    assert recorder.segments == []
    price.stop()
    assert recorder.only.names == ["request", "price"]
    assert current_span() is None


def test_after_an_end_out_of_order_the_outer_open_span_is_current(recorder: Recorder) -> None:
    outer, middle, inner = (local_span(name).start() for name in ("outer", "middle", "inner"))
    middle.stop()
    assert current_span() is inner
    inner.stop()
    assert current_span() is outer
    work("next")
    outer.stop()
    assert recorder.parent_of("next") == "outer"


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=40))
def test_in_any_order_of_ends_each_span_is_below_one_that_was_open(script: list[int | None]) -> None:
    with recording() as recorder:
        spans: list[Span] = []
        parents: dict[str, str | None] = {}
        for step in script:
            if step is None:
                around = current_span()
                spans.append(local_span(str(len(spans))).start())
                parents[spans[-1].name] = around.name if around is not None else None
            elif step < len(spans):
                spans[step].stop()
        for span in spans:
            span.stop()
        assert current_span() is None
        assert sorted(name for names in recorder.names for name in names) == sorted(parents)
        assert {name: recorder.parent_of(name) for name in parents} == parents


def test_starting_and_stopping_twice_does_nothing(recorder: Recorder) -> None:
    never_started = local_span("never started")
    never_started.stop()
    assert not never_started.ended
    assert recorder.segments == []
    with entry_span("request"):
        price = local_span("price").start()
        assert price.start() is price
        price.stop()
        ended = price.end_time
        price.stop()
        price.start()
        assert price.end_time == ended
        assert recorder.segments == []
    assert recorder.only.names == ["request", "price"]


def test_a_stop_that_breaks_into_a_stop_does_not_count_twice(recorder: Recorder) -> None:
    with entry_span("request"):
        span = local_span("stopped twice").start()
        stops = [span.stop]

        def clock() -> float:
            while stops:
                stops.pop()()
            return 1.0

        with spans_by(clock, clock):
            span.stop()
        assert recorder.segments == []
    assert recorder.only.names == ["request", "stopped twice"]
    assert len(recorder.only.spans) == 2


def test_a_span_may_end_in_another_context_or_thread(recorder: Recorder) -> None:
    request = entry_span("request").start()
    price = local_span("price").start()
    contextvars.copy_context().run(price.stop)
    assert current_span() is request
    work("next")
    in_a_thread(request.stop)
    assert recorder.only.names == ["request", "price", "next"]
    assert recorder.parent_of("next") == "request"
    assert current_span() is None


def test_an_entry_span_within_a_trace_opens_a_segment_that_refers_to_its_caller(recorder: Recorder) -> None:
    with entry_span("GET:/items/7") as outer, local_span("call"):
        outer.name = "GET:/items/{id}"
        with entry_span("inner") as inner:
            assert inner.trace_id == outer.trace_id
            assert inner.segment_id != outer.segment_id
    reference = recorder.reference("inner")
    assert reference.kind is RefKind.CROSS_THREAD
    assert reference[1:] == (outer.trace_id, outer.segment_id, 1, SERVICE, INSTANCE, "GET:/items/{id}", "")


def test_a_span_shows_itself(recorder: Recorder) -> None:
    span = local_span("work")
    assert repr(span) == "<Span local 'work' not recorded:-1 new>"
    with span:
        assert repr(span) == f"<Span local 'work' {span.trace_id}:0 open>"
    assert repr(span) == f"<Span local 'work' {span.trace_id}:0 ended>"
