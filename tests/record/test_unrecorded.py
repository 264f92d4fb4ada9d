"""Spans that are not recorded: ignored names, traces left out by sampling, no agent, and spans beyond the limit."""

from __future__ import annotations

import pytest

from swagent import Span, current_span, current_trace_id, entry_span, exit_span, local_span
from swagent.record.trace import tracer as tracers
from swagent.record.trace.carrier import Carrier, format_sw8
from swagent.record.trace.sampling import Sampler

from .recorded import Recorder, recording, work

_SAMPLED = Carrier(True, "trace", "segment", 3, "front", "front-1", "GET:/cart", "shop:8080")


def _closed_sampler() -> Sampler:
    sampler = Sampler(1, clock=lambda: 1.0)
    sampler.take()
    return sampler


def _use_all_of(span: Span) -> None:
    span.tag("key", "value").log(event="again").error(LookupError())
    assert span.headers() == {}
    assert span.reference() is None
    assert (span.trace_id, span.segment_id, span.is_recorded) == ("", "", False)


def test_under_an_ignored_span_nothing_is_recorded() -> None:
    with recording(is_ignored=lambda name: name == "health") as recorder:
        with entry_span("health") as health, local_span("check"), exit_span("query", "db:5432") as query:
            assert current_span() is query
            assert current_trace_id() == ""
            _use_all_of(health)
            _use_all_of(query)
        with entry_span("request"), local_span("health"):
            pass
    assert recorder.names == [["request", "health"]], "within a trace the name hides no local span"


@pytest.mark.parametrize("by", ["the sampler", "the caller"])
def test_under_an_unsampled_span_nothing_is_recorded(by: str) -> None:
    settings, sw8 = {"sampler": _closed_sampler()}, format_sw8(_SAMPLED._replace(sampled=False))
    with (
        recording(**(settings if by == "the sampler" else {})) as recorder,
        entry_span("request", sw8=None if by == "the sampler" else sw8) as request,
        local_span("price") as price,
    ):
        _use_all_of(request)
        _use_all_of(price)
        with entry_span("inner") as inner:
            _use_all_of(inner)
    assert recorder.segments == []


def test_a_trace_that_the_caller_samples_is_recorded_here_though_the_window_is_full() -> None:
    with recording(sampler=_closed_sampler()) as recorder, entry_span("request", sw8=format_sw8(_SAMPLED)):
        pass
    assert recorder.only.trace_id == "trace"


def test_a_message_of_another_trace_is_recorded_though_the_work_around_it_is_not() -> None:
    with recording(sampler=_closed_sampler()) as recorder, local_span("poll"):
        with entry_span("message", sw8=format_sw8(_SAMPLED)), local_span("handle"):
            pass
        work("commit")
    assert recorder.names == [["message", "handle"]]


def test_without_an_agent_spans_do_nothing() -> None:
    assert tracers.running() is None
    with entry_span("request", sw8=format_sw8(_SAMPLED), correlation="YQ==:Yg==") as request, local_span("price"):
        _use_all_of(request)
    assert request.ended


def test_a_trace_keeps_its_agent_and_a_new_one_goes_to_the_newest() -> None:
    with recording() as first:
        request = entry_span("request").start()
        second = Recorder()
        tracers.install(second.tracer)
        work("price")
        request.stop()
        work("next")
        tracers.uninstall(second.tracer)
        tracers.uninstall(second.tracer)
        work("last")
    assert (first.names, second.names) == ([["request", "price"], ["last"]], [["next"]])


def test_a_trace_begun_without_an_agent_stays_unrecorded_when_one_starts() -> None:
    request = entry_span("request").start()
    late = Recorder()
    tracers.install(late.tracer)
    work("price")
    request.stop()
    tracers.uninstall(late.tracer)
    assert late.segments == []


@pytest.mark.parametrize("limit", [1, 2, 512])
def test_a_segment_that_is_just_full_is_not_limited(limit: int) -> None:
    with recording(span_limit=limit) as recorder, entry_span("request"):
        for _ in range(limit - 1):
            work("work")
    assert len(recorder.only.spans) == limit
    assert not recorder.only.limited
