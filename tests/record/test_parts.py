"""A root that lives long sends its spans in parts while it lives, and every one has its parent."""

from __future__ import annotations

import pytest

from swagent import entry_span, exit_span, get_correlation, local_span, put_correlation
from swagent.record.trace.segment import LONG_AFTER, PART_AGE

from .recorded import Clock, Recorder, carrier_of, recording, work


def parents(recorder: Recorder) -> dict[str, str | None]:
    """Each span's parent by name, within its segment or by its reference."""
    places = {(segment.id, span.id): span.name for segment in recorder.segments for span in segment.spans}
    found: dict[str, str | None] = {}
    for segment in recorder.segments:
        for span in segment.spans:
            assert span.name not in found, "it arrived twice"
            if span.parent_id >= 0:
                found[span.name] = places[segment.id, span.parent_id]
            else:
                found[span.name] = places[span.refs[0].segment_id, span.refs[0].span_id] if span.refs else None
    return found


def test_beyond_the_limit_of_a_segment_spans_go_in_parts() -> None:
    with recording(span_limit=3) as recorder, entry_span("request"):
        for number in range(10):
            with local_span(f"outer {number}"), local_span(f"inner {number}"):
                pass
        assert len(recorder.segments) >= 3, "they do not wait for the root"
    expected: dict[str, str | None] = {f"outer {number}": "request" for number in range(10)}
    expected |= {f"inner {number}": f"outer {number}" for number in range(10)} | {"request": None}
    assert parents(recorder) == expected
    assert len({segment.trace_id for segment in recorder.segments}) == 1
    assert all(len(segment.spans) <= 3 for segment in recorder.segments)


def test_a_root_and_a_call_whose_place_was_sent_stay_where_they_are() -> None:
    with recording(span_limit=2) as recorder, entry_span("request") as request:
        sent = {"request": carrier_of(request.headers())}
        with exit_span("call", "shop:80") as call:
            sent["call"] = carrier_of(call.headers())
            work("beyond")
        for number in range(5):
            work(f"child {number}")
    for name, carrier in sent.items():
        assert (carrier.segment_id, carrier.span_id) == (recorder.of(name).id, recorder.span(name).id)
    assert parents(recorder) == {
        "request": None, "call": "request", "beyond": "call", **{f"child {number}": "request" for number in range(5)}
    }  # fmt: skip


def test_a_root_that_lives_long_sends_what_has_ended_by_then() -> None:
    clock = Clock()
    with recording(clock=clock) as recorder, entry_span("job"):
        work("early")
        clock.now += LONG_AFTER / 2
        assert recorder.tracer.finish_overdue_segments()
        assert recorder.segments == []
        clock.now += LONG_AFTER / 2
        assert recorder.tracer.finish_overdue_segments()
        assert recorder.names == [["early"]]
        work("late")
        clock.now += PART_AGE
        recorder.tracer.finish_overdue_segments()
        assert recorder.names == [["early"], ["late"]]
    assert parents(recorder) == {"early": "job", "late": "job", "job": None}


def test_a_part_waits_for_what_is_open_in_it() -> None:
    clock = Clock()
    with recording(clock=clock) as recorder, entry_span("job"):
        slow = local_span("slow").start()
        work("quick")
        clock.now += LONG_AFTER
        recorder.tracer.finish_overdue_segments()
        assert recorder.segments == []
        slow.stop()
        assert [sorted(names) for names in recorder.names] == [["quick", "slow"]]
    assert parents(recorder) == {"quick": "slow", "slow": "job", "job": None}


def test_the_values_that_travel_with_the_trace_are_known_in_every_part() -> None:
    with recording(span_limit=2), entry_span("request"):
        put_correlation("tenant", "globex")
        for number in range(5):
            with local_span(f"child {number}"):
                assert get_correlation("tenant") == "globex"
                put_correlation("tenant", "globex")


@pytest.mark.parametrize("limit", [1, 2])
def test_a_child_that_ends_after_its_root_is_there_as_well(limit: int) -> None:
    with recording(span_limit=limit) as recorder:
        request = entry_span("request").start()
        child = local_span("child").start()
        request.stop()
        work("late")
        child.stop()
    assert parents(recorder) == {"request": None, "child": "request", "late": "child"}
