"""Spans by the official agent's API: what they record, whose children they are, how a trace goes on elsewhere."""

from __future__ import annotations

import asyncio
import threading

import pytest

from record.recorded import Recorder
from swagent import current_span, entry_span, local_span
from swagent.official.carrier import Carrier
from swagent.official.context import get_context
from swagent.official.decorators import runnable, trace
from swagent.official.model import Component, Kind, Layer
from swagent.official.span import EntrySpan, ExitSpan
from swagent.official.tags import Tag, TagDbSqlParameters, TagHttpMethod, TagHttpStatusCode
from swagent.record.trace.model import RefKind, SpanKind


class TagItem(Tag):
    key = "item"


def test_a_span_has_what_it_was_given_before_and_after_its_start(recorder: Recorder) -> None:
    span = get_context().new_entry_span(op="/orders")
    span.component, span.layer = Component.Flask, Layer.Http
    span.tag(TagHttpMethod("GET"))
    with span:
        span.tag(TagItem(1)).tag(TagHttpStatusCode(200))
        span.tag(TagItem(2))
        span.peer = "10.0.0.1:80"
    assert isinstance(span, EntrySpan)
    assert (span.kind, span.component, span.layer) == (Kind.Entry, Component.Flask, Layer.Http)
    (own,) = recorder.only.spans
    assert (own.name, own.kind, own.component, own.layer) == ("/orders", SpanKind.ENTRY, 7001, 3)
    assert own.tags == [("http.method", "GET"), ("http.status_code", "200"), ("item", "2")]
    assert own.peer == "10.0.0.1:80"
    assert not own.failed


def test_a_tag_that_is_not_overridable_is_there_each_time(recorder: Recorder) -> None:
    with get_context().new_local_span("query") as span:
        span.tag(TagDbSqlParameters(1)).tag(TagDbSqlParameters(2))
    assert recorder.only.spans[0].tags == [("db.sql.parameters", "1"), ("db.sql.parameters", "2")]


def test_spans_of_both_apis_are_each_others_children(recorder: Recorder) -> None:
    with entry_span("request"), get_context().new_local_span("price"), local_span("tax"):
        active = get_context().active_span
        assert active is not None
        active.tag(TagItem("lamp"))
        assert str(get_context().segment.related_traces[0]) == recorder_trace()
    assert [recorder.parent_of(name) for name in ("request", "price", "tax")] == [None, "request", "price"]
    assert recorder.span("tax").tags == [("item", "lamp")]


def recorder_trace() -> str:
    span = current_span()
    assert span is not None
    return span.trace_id


def test_an_exception_that_leaves_a_span_fails_it_and_goes_on(recorder: Recorder) -> None:
    with pytest.raises(ValueError, match="wrong"), get_context().new_local_span("price"):
        raise ValueError("wrong")
    (span,) = recorder.only.spans
    assert span.failed
    ((_, [(key, stack)]),) = span.logs
    assert key == "Traceback"
    assert "test_an_exception_that_leaves_a_span" in stack


def test_an_exception_that_was_handled_is_logged_by_hand(recorder: Recorder) -> None:
    with get_context().new_local_span("price") as span:
        try:
            raise ValueError("wrong")
        except ValueError as error:
            span.raised().log(error)
    (own,) = recorder.only.spans
    assert own.failed
    assert [fields[0][0] for _, fields in own.logs] == ["Traceback", "Traceback"]
    assert own.logs[1][1] == [("Traceback", "wrong")]


def test_a_span_that_is_entered_twice_ends_once(recorder: Recorder) -> None:
    with get_context().new_local_span("price") as span:
        with span:
            assert span.depth == 2
        assert recorder.segments == []
    assert recorder.only.names == ["price"]


def test_a_library_inside_another_one_shares_its_span(recorder: Recorder) -> None:
    context = get_context()
    with context.new_entry_span("/server") as outer:
        outer.component = Component.General
        with context.new_entry_span("/route", inherit=Component.General) as inner:
            inner.component = Component.Flask
        with context.new_exit_span("/out", "a:1", Component.Requests, inherit=Component.Urllib3) as call:
            call.tag(TagItem(1))
            with context.new_exit_span("/below", "b:2", component=Component.Urllib3):
                pass
    assert recorder.only.names == ["/route", "/below"]
    below = recorder.span("/below")
    assert (below.component, below.peer, below.tags) == (7006, "b:2", [("item", "1")])
    assert recorder.span("/route").component == 7001


def test_a_call_carries_its_trace_and_its_elements_to_its_peer(recorder: Recorder) -> None:
    headers: dict[str, str] = {}
    with get_context().new_entry_span("/caller"):
        get_context().put_correlation("shop", "north")
        with get_context().new_exit_span("/called", peer="peer:80", component=Component.Requests) as call:
            headers.update((item.key, item.val) for item in call.inject())
    assert isinstance(call, ExitSpan)
    carrier = Carrier()
    for item in carrier:
        item.val = headers[item.key]
    assert carrier.is_valid
    assert not carrier.is_suppressed
    with get_context().new_entry_span("/called", carrier=carrier):
        assert get_context().get_correlation("shop") == "north"
    caller, called = recorder.segments
    assert called.trace_id == caller.trace_id
    (reference,) = called.spans[0].refs
    assert (reference.kind, reference.segment_id, reference.span_id) == (RefKind.CROSS_PROCESS, caller.id, 1)
    assert (reference.endpoint, reference.address) == ("/caller", "peer:80")


def test_a_message_that_is_read_inside_a_span_goes_on_with_its_trace(recorder: Recorder) -> None:
    with get_context().new_exit_span("/send", peer="broker:9092") as send:
        carrier = send.inject()
    with get_context().new_entry_span("/receive") as receive:
        receive.extract(carrier)
    sent, received = recorder.segments
    assert received.trace_id == sent.trace_id
    assert [reference.segment_id for reference in received.spans[0].refs] == [sent.id]


def test_what_is_no_carrier_is_none(recorder: Recorder) -> None:
    carrier = Carrier()
    carrier.val = "1-not-a-header"
    assert carrier.is_suppressed
    assert carrier.val == ""
    with get_context().new_entry_span("/orders", carrier=carrier) as span:
        assert span.extract(None) is span
    assert recorder.only.spans[0].refs == ()


def test_a_thread_continues_the_trace_that_started_it(recorder: Recorder) -> None:
    @runnable(op="/work")
    def work() -> None:
        price()

    @trace(tags=[TagItem("lamp")])
    def price() -> None:
        pass

    with get_context().new_entry_span("/orders"):
        thread = threading.Thread(target=work.continue_tracing())
        thread.start()
        thread.join()
    worked, asked = recorder.segments
    assert worked.names == ["/work", "price"]
    assert worked.trace_id == asked.trace_id
    (reference,) = recorder.span("/work").refs
    assert (reference.kind, reference.segment_id, reference.endpoint) == (RefKind.CROSS_THREAD, asked.id, "/orders")
    assert recorder.span("price").tags == [("item", "lamp")]


def test_a_runnable_that_is_called_where_it_was_made_is_a_child(recorder: Recorder) -> None:
    with get_context().new_entry_span("/orders"):

        @runnable()
        def work() -> int:
            return 3

        assert work() == 3
    assert recorder.only.names == ["/orders", "Thread/work"]
    assert recorder.span("Thread/work").refs == ()


def test_a_coroutine_function_is_traced(recorder: Recorder) -> None:
    @trace(op="price", layer=Layer.Cache, component=Component.Redis)
    async def price() -> int:
        return 3

    assert asyncio.run(price()) == 3
    (span,) = recorder.only.spans
    assert (span.name, span.layer, span.component) == ("price", 5, 7)


def test_without_an_agent_nothing_is_recorded_and_nothing_fails() -> None:
    context = get_context()
    assert context.active_span is None
    assert context.capture() is None
    context.continued(None)
    with context.new_exit_span("/out", peer="a:1") as span:
        assert [item.val for item in span.tag(TagItem(1)).inject()] == ["", ""]
        assert str(context.segment.segment_id) == ""
    with pytest.raises(RuntimeError):
        context.peek(raise_if_none=True)


def test_elements_that_were_put_before_the_first_span_travel_with_it(recorder: Recorder) -> None:
    context = get_context()
    context.put_correlation("shop", "north")
    context.put_correlation("item", "lamp")
    context.put_correlation("item", None)
    assert context.get_correlation("shop") == "north"
    with context.new_entry_span("/orders"):
        pass
    assert recorder.only.correlation == {"shop": "north"}
