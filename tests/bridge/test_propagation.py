"""The headers of calls that OpenTelemetry instrumentations make and take."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.trace import INVALID_SPAN, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from record.recorded import Recorder, recording
from swagent import entry_span, exit_span, local_span, put_correlation
from swagent.record.trace.carrier import parse_sw8
from swagent.record.trace.model import RefKind

tracer = trace.get_tracer("a.library")
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def _received(headers: dict[str, str], name: str = "receive") -> None:
    token = context.attach(propagate.extract(headers))
    tracer.start_span(name, kind=SpanKind.CONSUMER).end()
    context.detach(token)


def _sent() -> dict[str, str]:
    with exit_span("send", "kafka:9092") as call:
        return dict(call.headers())


def test_a_call_carries_its_own_place_and_the_peer_known_so_far(recorder: Recorder) -> None:
    headers: dict[str, str] = {}
    attributes: dict[str, Any] = {"net.peer.name": "shop", "net.peer.port": 80}
    with entry_span("GET:/cart"), tracer.start_as_current_span("call", kind=SpanKind.CLIENT, attributes=attributes):
        propagate.inject(headers)
    carrier = parse_sw8(headers["sw8"])
    segment = recorder.only
    assert carrier is not None
    assert carrier[1:4] == (segment.trace_id, segment.id, recorder.span("call").id)
    assert (carrier.endpoint, carrier.address) == ("GET:/cart", "shop:80")
    assert headers["traceparent"].split("-")[1] == segment.trace_id


def test_a_call_without_a_peer_gets_that_of_the_library_inside(recorder: Recorder) -> None:
    with tracer.start_as_current_span("call", kind=SpanKind.CLIENT) as span:
        carrier = parse_sw8(span.headers_for("shop:80")["sw8"])  # type: ignore[attr-defined]
    assert carrier is not None
    assert carrier.address == recorder.span("call").peer == "shop:80"


def test_a_native_call_goes_on_in_an_instrumented_consumer(recorder: Recorder) -> None:
    with local_span("job"), exit_span("send", "kafka:9092") as call:
        put_correlation("user", "17")
        headers = call.headers()
    _received(headers)
    (reference,) = recorder.span("receive").refs
    sent = recorder.of("send")
    expected = (RefKind.CROSS_PROCESS, sent.trace_id, sent.id)
    assert (reference.kind, reference.trace_id, reference.segment_id) == expected
    assert recorder.of("receive").trace_id == sent.trace_id
    assert recorder.of("receive").correlation == {"user": "17"}


def test_a_native_span_goes_on_from_what_was_extracted(recorder: Recorder) -> None:
    token = context.attach(propagate.extract(_sent()))
    with local_span("work"):
        pass
    context.detach(token)
    assert recorder.of("work").trace_id == recorder.of("send").trace_id
    assert recorder.span("work").refs[0].segment_id == recorder.of("send").id


def test_a_trace_that_the_caller_does_not_record_is_not_recorded(recorder: Recorder) -> None:
    _received({"sw8": "0" + _sent()["sw8"][1:]})
    assert recorder.names == [["send"]]


def test_sw8_wins_over_traceparent(recorder: Recorder) -> None:
    _received({**_sent(), "traceparent": CALLER})
    assert recorder.of("receive").trace_id == recorder.of("send").trace_id
    assert "traceparent" not in dict(recorder.span("receive").tags)


def test_traceparent_alone_gives_the_trace_and_no_reference(recorder: Recorder) -> None:
    _received({"traceparent": CALLER, "tracestate": "other=1,sw=old-1"})
    assert recorder.only.trace_id == "0af7651916cd43dd8448eb211c80319c"
    assert recorder.span("receive").refs == ()
    assert dict(recorder.span("receive").tags) == {"traceparent": CALLER}


@pytest.mark.parametrize("headers", [{}, {"sw8": "1-²"}, {"traceparent": "00-0-0-01"}, {"sw8": "", "traceparent": ""}])
def test_without_a_context_a_trace_begins(headers: dict[str, str], recorder: Recorder) -> None:
    _received(headers)
    assert recorder.span("receive").refs == ()
    assert len(recorder.only.trace_id) == 32


@pytest.mark.parametrize(("trusted", "count"), [(True, 1), (False, 0)])
def test_a_caller_that_is_not_trusted_is_not_continued(trusted: bool, count: int) -> None:
    with recording(trust_incoming=trusted) as recorder:
        _received(_sent())
    assert len(recorder.span("receive").refs) == count


def test_only_hosts_that_may_get_it_get_the_context() -> None:
    headers: list[dict[str, str]] = []
    with recording(propagate_to=["shop"]):
        for host in ("shop", "other"):
            headers.append({})
            with tracer.start_as_current_span("call", kind=SpanKind.CLIENT, attributes={"server.address": host}):
                propagate.inject(headers[-1])
    assert [sorted(each) for each in headers] == [["sw8", "traceparent", "tracestate"], []]


def test_without_the_setting_sw8_travels_alone() -> None:
    with recording(traceparent=False) as recorder:
        with exit_span("call", "shop:80"):
            headers: dict[str, str] = {}
            propagate.inject(headers)
        assert sorted(headers) == ["sw8"]
        _received({"traceparent": CALLER})
    assert recorder.of("receive").trace_id != "0af7651916cd43dd8448eb211c80319c"


def test_baggage_travels_as_before(recorder: Recorder) -> None:
    token = context.attach(baggage.set_baggage("user", "17"))
    headers: dict[str, str] = {}
    with local_span("job"):
        propagate.inject(headers)
    context.detach(token)
    assert headers["baggage"] == "user=17"
    assert baggage.get_baggage("user", propagate.extract(headers)) == "17"
    assert propagate.get_global_textmap().fields >= {"sw8", "sw8-correlation", "traceparent", "baggage"}


def test_a_caller_is_handed_on_where_nothing_of_ours_is_between(recorder: Recorder) -> None:
    with exit_span("send", "kafka:9092") as call:
        put_correlation("user", "17")
        sent = {name: value for name, value in call.headers().items() if name.startswith("sw8")}
    for headers in (sent, {"traceparent": CALLER, "tracestate": "other=1"}):
        passed: dict[str, str] = {}
        propagate.inject(passed, propagate.extract(headers))
        assert passed == headers


def test_an_extracted_context_has_its_ids(recorder: Recorder) -> None:
    with exit_span("send", "kafka:9092") as call:
        ours = trace.get_current_span().get_span_context()
        headers = call.headers()
    theirs = trace.get_current_span(propagate.extract(headers)).get_span_context()
    assert (theirs.trace_id, theirs.span_id, theirs.is_remote) == (ours.trace_id, ours.span_id, True)
    # as any other service reads them
    read = TraceContextTextMapPropagator().extract(headers)
    seen = trace.get_current_span(read).get_span_context()
    assert (seen.trace_id, seen.span_id) == (ours.trace_id, ours.span_id)


class Broken(dict[str, Any]):
    def __setitem__(self, key: str, value: object) -> None:
        raise RuntimeError("no header may be set")

    def get(self, *_: object) -> Any:
        raise RuntimeError("no header can be read")


def test_a_carrier_that_fails_costs_the_context_and_not_the_call(recorder: Recorder) -> None:
    with exit_span("call", "shop:80"):
        propagate.get_global_textmap()
        from swagent.opentelemetry.propagator import SkyWalkingPropagator

        SkyWalkingPropagator().inject(Broken())
        assert trace.get_current_span(SkyWalkingPropagator().extract(Broken())) is INVALID_SPAN


def test_nor_does_it_where_another_propagator_writes_and_reads(recorder: Recorder) -> None:
    # FastAPI asks the installed one in each request, as soon as there is a provider
    installed = propagate.get_global_textmap()
    assert "baggage" in installed.fields
    installed.inject(Broken(), baggage.set_baggage("user", "17"))
    assert trace.get_current_span(installed.extract(Broken())) is INVALID_SPAN
