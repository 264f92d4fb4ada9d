"""The facts that an OpenTelemetry span gets, and those that the native span says."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, get_current_span

from instrument.trees import trees
from record.recorded import Recorder, recording
from swagent import entry_span, local_span

tracer = trace.get_tracer("a.library")


class Unwilling:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def _logs(recorder: Recorder, name: str) -> list[dict[str, str]]:
    return [dict(fields) for _, fields in recorder.span(name).logs]


def test_attributes_are_tags_until_the_span_ends(recorder: Recorder) -> None:
    with tracer.start_as_current_span("work", attributes={"items": 3}) as span:
        span.set_attribute("sizes", (1, 2))
        span.set_attributes({"kind": "slow", "odd": Unwilling()})  # type: ignore[dict-item]
        assert span.is_recording()
    span.set_attribute("late", "1")
    assert not span.is_recording()
    assert trees(recorder) == "Local work items=3 sizes=1,2 kind=slow odd=<Unwilling without text>"


def test_the_last_name_counts(recorder: Recorder) -> None:
    with tracer.start_as_current_span("first") as span:
        span.update_name("GET /orders/17?token=secret")
    assert recorder.names == [["GET /orders/{id}"]]


def test_events_are_logs(recorder: Recorder) -> None:
    at = time.time_ns() - 5_000_000_000
    with tracer.start_as_current_span("work") as span:
        span.add_event("retry", {"attempt": 2, "http.request.header.cookie": "secret"}, timestamp=at)
        span.add_event("exception", {"exception.type": "ValueError", "exception.message": "no"})
        span.add_event("gen_ai.user.message", {"content": "a prompt"})
    assert _logs(recorder, "work") == [
        {"event": "retry", "attempt": "2"},
        {"event": "error", "error.kind": "ValueError", "message": "no"},
        {"event": "gen_ai.user.message"},
    ]
    assert recorder.span("work").logs[0][0] == at / 1e9


def test_an_exception_that_leaves_is_one_recorded_failure(recorder: Recorder) -> None:
    with suppress(ValueError), tracer.start_as_current_span("work") as span:
        try:
            raise ValueError("no")
        except ValueError as error:
            span.record_exception(error)
            raise
    (log,) = _logs(recorder, "work")
    assert (log["event"], log["error.kind"], log["message"]) == ("error", "ValueError", "no")
    assert recorder.span("work").failed


def test_an_exception_that_is_handled_is_no_failure(recorder: Recorder) -> None:
    with tracer.start_as_current_span("work") as span:
        span.record_exception(ValueError("no"))
    assert not recorder.span("work").failed
    assert _logs(recorder, "work")[0]["message"] == "no"


@pytest.mark.parametrize(
    ("statuses", "failed"),
    [
        ([StatusCode.ERROR], True),
        ([Status(StatusCode.ERROR, "refused")], True),
        ([StatusCode.UNSET], False),
        ([StatusCode.ERROR, StatusCode.OK], False),
        ([StatusCode.OK, StatusCode.ERROR], False),
    ],
)
def test_the_status_says_whether_it_failed(statuses: list[Any], failed: bool, recorder: Recorder) -> None:
    with tracer.start_as_current_span("work") as span:
        for status in statuses:
            span.set_status(status)
    assert recorder.span("work").failed is failed
    said = [log["message"] for log in _logs(recorder, "work")]
    assert said == [each.description for each in statuses if isinstance(each, Status)]


@pytest.mark.anyio
async def test_a_span_that_is_cut_off_says_so_although_its_instrumentation_does_not(recorder: Recorder) -> None:
    async def work() -> None:
        span = tracer.start_span("call", kind=SpanKind.CLIENT)
        try:
            with tracer.start_as_current_span("inside"):
                await anyio.sleep_forever()
        finally:
            span.end()

    with anyio.move_on_after(0.01), local_span("job"):
        await work()
    outcomes = {span.name: dict(span.tags)["outcome"] for span in recorder.only.spans}
    assert outcomes.keys() == {"call", "inside", "job"}
    assert set(outcomes.values()) <= {"cancelled", "timed_out"}
    assert not any(span.failed for span in recorder.only.spans)


def test_a_cancellation_that_is_handled_elsewhere_is_none_of_its_own(recorder: Recorder) -> None:
    try:
        raise asyncio.CancelledError
    except asyncio.CancelledError:
        tracer.start_span("cleaning up").end()
    assert trees(recorder) == "Local cleaning up"


def test_times_that_are_given_are_kept(recorder: Recorder) -> None:
    begun = time.time_ns() - 60_000_000_000
    with local_span("job"):
        tracer.start_span("before", start_time=begun).end(end_time=begun + 1_000_000_000)
        tracer.start_span("backwards", start_time=begun).end(end_time=begun - 1)
    before, backwards = recorder.span("before"), recorder.span("backwards")
    assert (before.start_time, before.end_time) == (begun / 1e9, begun / 1e9 + 1)
    assert backwards.end_time == backwards.start_time


def test_links_to_spans_of_ours_are_references(recorder: Recorder) -> None:
    sent = []
    for number in range(3):
        with local_span(f"sender {number}"):
            sent.append(get_current_span().get_span_context())
    foreign = trace.SpanContext(1, 2, is_remote=True)
    links = [Link(each) for each in (foreign, *sent[:2])]
    with tracer.start_as_current_span("batch", kind=SpanKind.CONSUMER, links=links) as batch:
        batch.add_link(sent[2])
        batch.add_link(sent[2])
    segments = [recorder.of(f"sender {number}") for number in range(3)]
    assert [each.segment_id for each in recorder.span("batch").refs] == [segment.id for segment in segments]
    # without a parent it continues the first message's trace
    assert recorder.of("batch").trace_id == segments[0].trace_id


def test_a_native_span_takes_facts_too(recorder: Recorder) -> None:
    with local_span("native"):
        span = get_current_span()
        span.set_attributes({"items": 3, "http.request.header.cookie": "secret"})
        span.add_event("cached", {"hit": True})
        span.record_exception(ValueError("no"))
        span.set_status(StatusCode.ERROR)
        span.end()
        assert span.is_recording()
    assert trees(recorder) == "Local native items=3 FAILED"
    assert [log["event"] for log in _logs(recorder, "native")] == ["cached", "error"]


def test_functions_can_be_decorated(recorder: Recorder) -> None:
    @tracer.start_as_current_span("called")
    def call(number: int) -> int:
        return number + 1

    assert [call(1), call(2)] == [2, 3]
    assert recorder.names == [["called"], ["called"]]


@pytest.mark.anyio
async def test_coroutine_functions_can_be_decorated(recorder: Recorder) -> None:
    @tracer.start_as_current_span("called")
    async def call() -> Any:
        return get_current_span()

    span = await call()
    assert recorder.only.spans == [span]


def test_options_of_the_current_span_are_kept(recorder: Recorder) -> None:
    with (
        suppress(ValueError),
        tracer.start_as_current_span(
            "quiet", record_exception=False, set_status_on_exception=False, end_on_exit=False
        ) as span,
    ):
        raise ValueError("no")
    assert span.is_recording()
    span.end()
    assert trees(recorder) == "Local quiet"
    assert _logs(recorder, "quiet") == []


def test_nothing_is_recorded_below_what_is_not() -> None:
    hidden, inside = entry_span("hidden"), tracer.start_as_current_span("inside")
    with recording(is_ignored=lambda name: name == "hidden") as recorder, hidden, inside as span:
        assert not span.is_recording()
        assert not span.get_span_context().is_valid
        span.set_attribute("a", 1)
        span.record_exception(ValueError())
    assert recorder.segments == []


def test_without_an_agent_a_span_costs_nothing_and_says_so() -> None:
    with tracer.start_as_current_span("work") as span:
        assert not span.is_recording()
        span.set_attribute("a", 1)


@pytest.mark.parametrize("call", ["kind", "attributes", "start_time", "links"])
def test_a_wrong_argument_costs_the_span_and_not_the_call(call: str, recorder: Recorder) -> None:
    span = tracer.start_span("work", **{call: object()})  # type: ignore[arg-type]
    span.set_attributes({"a": 1})
    span.end(end_time="never")  # type: ignore[arg-type]
    span.end()
