"""No span holds its request up, and none is lost: whatever is never ended arrives once, and says so."""

from __future__ import annotations

import gc
from collections import Counter
from contextvars import copy_context
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swagent import entry_span, exit_span, local_span
from swagent.record.trace.context import current
from swagent.record.trace.model import INCOMPLETE
from swagent.record.trace.span import Span

from .recorded import Clock, Recorder, in_a_thread, recording, work


def incomplete(recorder: Recorder) -> set[str]:
    return {span.name for segment in recorder.segments for span in segment.spans if INCOMPLETE in span.tags}


def test_a_request_waits_for_its_spans_no_longer_than_the_grace() -> None:
    clock = Clock()
    with recording(clock=clock, grace=30.0) as recorder:
        with entry_span("request"):
            call = exit_span("call", "shop:80").start()
        clock.now += 29
        recorder.tracer.finish_overdue_segments()
        assert recorder.segments == []
        clock.now += 1
        assert not recorder.tracer.finish_overdue_segments()
        assert recorder.names == [["request", "call"]]
        call.stop()
        assert recorder.names == [["request", "call"]], "it is recorded once"
    assert incomplete(recorder) == {"call"}
    assert recorder.tracer.incomplete == 1
    assert recorder.span("call").end_time >= recorder.span("call").start_time


def test_a_span_that_cannot_end_any_more_is_finished_at_once_and_so_is_a_root() -> None:
    with recording() as recorder:
        with entry_span("request"):
            # as an instrumentation that forgets its span, in a context of its own
            copy_context().run(exit_span("call", "shop:80").start)
            gc.collect()
        copy_context().run(entry_span("job").start)
        gc.collect()
        assert recorder.names == [["request", "call"], ["job"]]
    assert incomplete(recorder) == {"call", "job"}


def test_at_the_end_everything_is_recorded_as_it_is() -> None:
    with recording() as recorder:
        request = entry_span("request").start()
        child = local_span("child").start()
        recorder.tracer.finish_open_segments()
        assert recorder.names == [["request", "child"]]
        child.stop()
        request.stop()
        recorder.tracer.finish_open_segments()
    assert recorder.names == [["request", "child"]]
    assert incomplete(recorder) == {"request", "child"}
    assert recorder.tracer.incomplete == 2


def test_a_span_below_one_that_was_recorded_while_open_refers_to_it() -> None:
    with recording() as recorder:
        request = entry_span("request").start()
        recorder.tracer.finish_open_segments()
        work("later")
        request.stop()
    assert recorder.names == [["request"], ["later"]]
    reference = recorder.reference("later")
    assert (reference.segment_id, reference.span_id) == (recorder.of("request").id, 0)


def test_a_poller_that_a_request_began_does_not_hold_it() -> None:
    clock = Clock()
    with recording(clock=clock, grace=30.0) as recorder:
        with entry_span("request"):
            poller = copy_context()
            running = poller.run(local_span("poller").start)
        for _ in range(3):
            clock.now += 15
            poller.run(work, "poll")
            recorder.tracer.finish_overdue_segments()
    running.stop()
    assert sorted(recorder.names[0]) == ["poll", "poll", "poller", "request"]
    assert recorder.names[1:] == [["poll"]]
    assert incomplete(recorder) == {"poller"}


KINDS = st.sampled_from(["once", "never", "twice", "lost"])
TREES = st.lists(st.tuples(st.integers(0, 30), KINDS, st.booleans()), min_size=1, max_size=40)


@pytest.mark.gate
@settings(deadline=None, max_examples=100)
@given(tree=TREES, order=st.randoms(use_true_random=False), limit=st.sampled_from([1, 2, 5, 512]), found=st.booleans())
def test_every_span_arrives_once_below_its_parent(
    tree: list[tuple[int, str, bool]], order: Any, limit: int, found: bool
) -> None:
    """Random trees over contexts and threads, ended in any order."""
    clock = Clock()
    with recording(clock=clock, span_limit=limit) as recorder:
        spans: dict[int, Span] = {0: copy_context().run(entry_span("0").start)}
        parents: dict[str, str | None] = {"0": None}
        ended: set[int] = set()
        for number, (at, _, in_thread) in enumerate(tree, start=1):
            parent = spans[at % number]
            # a span that has ended is stepped over
            parent = spans[0] if parent.ended else parent
            _in(parent, lambda number=number: spans.update({number: local_span(f"{number}").start()}), in_thread)
            parents[f"{number}"] = parent.name
            if found and number % 3 == 0:
                spans[number].headers()
            if order.random() < 0.3 and number > 1:
                early = order.randrange(1, number)
                if tree[early - 1][1] in ("once", "twice") and early not in ended:
                    ended.add(early)
                    spans[early].stop()
                clock.now += order.choice([0, 3, 12])
                recorder.tracer.finish_overdue_segments()
        left = list(range(len(tree) + 1))
        order.shuffle(left)
        for number in left:
            kind = "once" if number == 0 else tree[number - 1][1]
            ending = spans.pop(number)
            for _ in range({"once": 1, "twice": 2}.get(kind, 0)):
                ending.stop()
            if kind != "lost":
                spans[number] = ending
            del ending
        del parent
        clock.now += 60
        recorder.tracer.finish_overdue_segments()
        assert not recorder.tracer.finish_overdue_segments(), "nothing is held"
        spans.clear()
    arrived = Counter(span.name for segment in recorder.segments for span in segment.spans)
    assert arrived == Counter(parents.keys()), "each once"
    places = {(segment.id, span.id): span.name for segment in recorder.segments for span in segment.spans}
    for segment in recorder.segments:
        assert len(segment.spans) <= max(limit, 1)
        for span in segment.spans:
            own = (segment.id, span.parent_id) if span.parent_id >= 0 else None
            above = own or (span.refs and (span.refs[0].segment_id, span.refs[0].span_id)) or None
            assert (places[above] if above else None) == parents[span.name]
    never = {f"{number}" for number, (_, kind, _) in enumerate(tree, start=1) if kind in ("never", "lost")}
    assert incomplete(recorder) - {"0"} <= never | {f"{number}" for number in range(len(tree) + 1)}
    assert never <= incomplete(recorder)


def _in(parent: Span, function: Any, in_thread: bool) -> None:
    """Do something where a span is active, maybe in another thread."""
    context = copy_context()
    context.run(current.set, parent)
    if in_thread:
        in_a_thread(lambda: context.run(function))
    else:
        context.run(function)
