"""One truth of what is active: native spans and bridged ones are each other's parents, on every loop and in threads."""

from __future__ import annotations

import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from anyio import to_thread
from anyio.lowlevel import checkpoint
from opentelemetry import baggage, context, trace
from opentelemetry.trace import INVALID_SPAN, SpanKind, set_span_in_context, use_span

from instrument.trees import trees
from record.recorded import Recorder
from swagent import capture, entry_span, exit_span, local_span
from swagent import current_span as native_span

pytestmark = pytest.mark.anyio
tracer = trace.get_tracer("a.library")


def _active() -> Any:
    """The active entry of swagent, of any kind."""
    return native_span()


async def test_native_and_bridged_spans_are_each_others_parents(recorder: Recorder) -> None:
    with entry_span("GET:/cart"), tracer.start_as_current_span("price"):
        await checkpoint()
        with local_span("discount"), tracer.start_as_current_span("rule"):
            await checkpoint()
        with exit_span("ask", "shop:80"):
            await checkpoint()
    assert trees(recorder) == (
        "Entry GET:/cart\n  Local price\n    Local discount\n      Local rule\n    Exit ask shop:80"
    )


async def test_each_side_sees_what_the_other_one_has_begun(recorder: Recorder) -> None:
    assert trace.get_current_span() is INVALID_SPAN
    with local_span("native") as native:
        seen = trace.get_current_span()
        assert f"{seen.get_span_context().trace_id:032x}" == native.trace_id
        with tracer.start_as_current_span("bridged") as bridged:
            assert trace.get_current_span() is bridged
            assert _active() is bridged
            assert bridged.get_span_context().trace_id == seen.get_span_context().trace_id
        assert trace.get_current_span().get_span_context() == seen.get_span_context()
        assert _active() is native
    assert trace.get_current_span() is INVALID_SPAN


async def test_child_tasks_have_the_span_of_their_parent(recorder: Recorder) -> None:
    async def work(name: str) -> None:
        with tracer.start_as_current_span(name):
            await checkpoint()

    with tracer.start_as_current_span("request"):
        async with anyio.create_task_group() as children:
            for name in ("first", "second"):
                children.start_soon(work, name)
        await to_thread.run_sync(lambda: tracer.start_span("thread").end())
    assert sorted(recorder.only.names) == ["first", "request", "second", "thread"]
    assert {recorder.parent_of(name) for name in ("first", "second", "thread")} == {"request"}


async def test_a_span_is_active_only_where_it_was_attached(recorder: Recorder) -> None:
    with local_span("job") as job:
        idle = tracer.start_span("idle")
        assert _active() is job
        with use_span(idle, end_on_exit=True), local_span("inside"):
            await checkpoint()
        assert _active() is job
    assert (recorder.parent_of("idle"), recorder.parent_of("inside")) == ("job", "idle")


async def test_an_explicit_context_says_the_parent(recorder: Recorder) -> None:
    with tracer.start_as_current_span("first") as first, local_span("second"):
        tracer.start_span("below first", context=set_span_in_context(first)).end()
        tracer.start_span("below second", context=context.get_current()).end()
        tracer.start_span("alone", context=context.Context()).end()
    assert (recorder.parent_of("below first"), recorder.parent_of("below second")) == ("first", "second")
    assert recorder.names == [["alone"], ["first", "second", "below first", "below second"]]
    assert recorder.of("alone").trace_id != recorder.of("first").trace_id


async def test_a_context_without_a_span_hides_the_active_one_until_it_is_detached(recorder: Recorder) -> None:
    with local_span("job") as job:
        token = context.attach(context.Context())
        assert trace.get_current_span() is INVALID_SPAN
        assert _active() is None
        with local_span("apart"):
            pass
        context.detach(token)
        assert _active() is job
    assert recorder.names == [["apart"], ["job"]]
    assert recorder.span("apart").refs == ()


async def test_other_values_of_a_context_stay_with_it(recorder: Recorder) -> None:
    token = context.attach(baggage.set_baggage("user", "17"))
    with local_span("job"), tracer.start_as_current_span("inside"):
        assert baggage.get_baggage("user") == "17"
        with local_span("deeper"):
            assert baggage.get_baggage("user") == "17"
    context.detach(token)
    assert baggage.get_baggage("user") is None


async def test_tokens_may_be_given_back_out_of_turn_and_twice(recorder: Recorder) -> None:
    with local_span("job") as job:
        first, second = tracer.start_span("first"), tracer.start_span("second")
        outer = context.attach(set_span_in_context(first))
        inner = context.attach(set_span_in_context(second))
        context.detach(outer)
        assert _active() is second
        context.detach(inner)
        assert _active() is job
        context.detach(outer)
        context.detach(inner)
        assert _active() is job
        first.end()
        second.end()


async def test_a_token_of_another_context_changes_nothing(recorder: Recorder) -> None:
    with tracer.start_as_current_span("here") as here:
        token = contextvars.copy_context().run(context.attach, context.Context())
        context.detach(token)
        assert _active() is here


async def test_code_that_never_detaches_holds_a_bounded_number_of_spans(recorder: Recorder) -> None:
    def attach_many() -> int:
        token: Any = None
        for number in range(1000):
            span = tracer.start_span(f"message {number}")
            token = context.attach(set_span_in_context(span))
            span.end()
        depth = 0
        last: Any = token
        while last is not None:
            depth, last = depth + 1, getattr(last, "before", None)
        return depth

    assert contextvars.copy_context().run(attach_many) <= 100


def test_a_bare_thread_begins_anew_and_one_with_a_snapshot_continues(recorder: Recorder) -> None:
    def work(name: str) -> None:
        tracer.start_span(name).end()
        tracer.start_span(f"{name} explicitly", context=context.get_current()).end()

    with tracer.start_as_current_span("job") as job:
        snapshot = capture()

        def continued() -> None:
            with snapshot:
                work("continued")

        for target in (lambda: work("alone"), continued):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        trace_id = f"{job.get_span_context().trace_id:032x}"
    assert [each.trace_id == trace_id for each in recorder.segments] == [False, False, True, True, True]
    assert [recorder.of(name).spans[0].refs[0].segment_id for name in ("continued", "continued explicitly")] == [
        recorder.of("job").id
    ] * 2


def test_a_context_can_be_handed_to_another_thread(recorder: Recorder) -> None:
    def work(given: context.Context) -> None:
        token = context.attach(given)
        with local_span("there"):
            pass
        context.detach(token)
        assert _active() is None

    with ThreadPoolExecutor(1) as pool, tracer.start_as_current_span("here"):
        pool.submit(work, context.get_current()).result()
    assert recorder.parent_of("there") == "here"


async def test_a_span_that_is_not_ended_holds_up_nothing(recorder: Recorder) -> None:
    with entry_span("request"):
        tracer.start_span("leaked", kind=SpanKind.INTERNAL)
    assert sorted(recorder.only.names) == ["leaked", "request"]
    assert dict(recorder.span("leaked").tags) == {"incomplete": "true"}
