"""How an operation ended: well, failed, cancelled or timed out, and in whose task."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import anyio
import pytest
import trio

from record.recorded import Recorder
from swagent import entry_span, exit_span, local_span
from swagent import trace as traced
from swagent.record.limits import MAX_TAGS
from swagent.record.trace.outcome import Outcome, name_of_task, outcome_of
from swagent.record.trace.span import Span

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup


def outcome(recorder: Recorder, name: str) -> tuple[str | None, bool]:
    span = recorder.span(name)
    return dict(span.tags).get("outcome"), span.failed


def spans() -> list[Span]:
    return [entry_span("entry"), exit_span("exit", "shop:80"), local_span("local")]


class OddError(asyncio.CancelledError):
    """One that is asked in vain."""

    @property
    def args(self) -> Any:  # type: ignore[override]
        raise LookupError

    def get_name(self) -> str:
        raise LookupError


CANCELLED, TIMED_OUT, FAILED, OK = ("cancelled", False), ("timed_out", False), (None, True), (None, False)
ENDINGS: list[tuple[BaseException, tuple[str | None, bool]]] = [
    (asyncio.CancelledError(), CANCELLED),
    (asyncio.CancelledError("Cancelled via cancel scope 7f; reason: too slow"), CANCELLED),
    (asyncio.CancelledError("Cancelled via cancel scope 7f; reason: deadline exceeded"), TIMED_OUT),
    (OddError(), CANCELLED),
    (TimeoutError("too slow"), TIMED_OUT),
    (asyncio.TimeoutError(), TIMED_OUT),
    (trio.TooSlowError(), TIMED_OUT),
    (LookupError(), FAILED),
    (GeneratorExit(), OK),
    (SystemExit(), OK),
    (KeyboardInterrupt(), OK),
    (BaseExceptionGroup("", [asyncio.CancelledError(), asyncio.CancelledError()]), CANCELLED),
    (BaseExceptionGroup("", [asyncio.CancelledError(), BaseExceptionGroup("", [TimeoutError()])]), TIMED_OUT),
    (BaseExceptionGroup("", [asyncio.CancelledError(), TimeoutError(), LookupError()]), FAILED),
    (BaseExceptionGroup("", [SystemExit()]), OK),
]


@pytest.mark.parametrize(("error", "expected"), ENDINGS, ids=[repr(error)[:40] for error, _ in ENDINGS])
def test_what_leaves_a_span_is_its_outcome(
    recorder: Recorder, error: BaseException, expected: tuple[str | None, bool]
) -> None:
    for span in spans():
        with pytest.raises(type(error)) as raised, span:
            raise error
        assert raised.value is error
        assert outcome(recorder, span.name) == expected


def test_a_timeout_says_where_it_was(recorder: Recorder) -> None:
    with suppress(TimeoutError), exit_span("call", "shop:80"):
        raise TimeoutError("too slow")
    [(_, fields)] = recorder.span("call").logs
    assert dict(fields)["message"] == "too slow"
    assert "test_a_timeout_says_where_it_was" in dict(fields)["stack"]


def test_a_span_that_failed_before_it_was_cancelled_has_failed(recorder: Recorder) -> None:
    with suppress(asyncio.CancelledError), local_span("job") as span:
        span.error()
        raise asyncio.CancelledError
    assert outcome(recorder, "job") == FAILED


def test_the_outcome_has_room_beside_many_tags(recorder: Recorder) -> None:
    with suppress(asyncio.CancelledError), local_span("job") as span:
        for number in range(MAX_TAGS):
            span.tag(f"{number}", number)
        raise asyncio.CancelledError
    assert outcome(recorder, "job") == CANCELLED
    assert len(recorder.span("job").tags) == MAX_TAGS
    assert recorder.only.limited


@pytest.mark.anyio
async def test_a_deadline_that_has_passed_is_a_timeout(recorder: Recorder) -> None:
    if tuple(map(int, version("anyio").split(".")[:2])) < (4, 11):
        pytest.skip("this anyio does not say why it cancels")
    with anyio.move_on_after(0.001), local_span("moved on"):
        await anyio.sleep_forever()
    with suppress(TimeoutError), local_span("around"), anyio.fail_after(0.001), local_span("inside"):
        await anyio.sleep_forever()
    with anyio.CancelScope() as scope, anyio.move_on_after(60), local_span("earlier"):
        scope.cancel()
        await anyio.sleep_forever()
    assert outcome(recorder, "moved on") == TIMED_OUT
    assert outcome(recorder, "around") == TIMED_OUT
    assert outcome(recorder, "inside") == TIMED_OUT
    assert outcome(recorder, "earlier") == CANCELLED


def test_a_deadline_of_trios_own_is_a_timeout(recorder: Recorder) -> None:
    async def main() -> None:
        with trio.move_on_after(0.001), local_span("moved on"):
            await trio.sleep_forever()
        with suppress(trio.TooSlowError), local_span("around"), trio.fail_after(0.001):
            await trio.sleep_forever()

    trio.run(main)
    if hasattr(trio.Cancelled, "source"):  # since 0.31
        assert outcome(recorder, "moved on") == TIMED_OUT
    assert outcome(recorder, "around") == TIMED_OUT


def test_a_timeout_of_asyncios_own_is_one_outside_of_it(recorder: Recorder) -> None:
    async def main() -> None:
        with local_span("around"):
            await asyncio.wait_for(waiting(), 0.001)

    @traced("inside")
    async def waiting() -> None:
        await asyncio.Event().wait()

    with suppress(TimeoutError, asyncio.TimeoutError):
        asyncio.run(main())
    assert outcome(recorder, "around") == TIMED_OUT
    assert outcome(recorder, "inside") == CANCELLED, "the reason is not known here"


@pytest.mark.anyio
async def test_the_outcome_names_the_task_where_it_is_not_the_roots(recorder: Recorder) -> None:
    async def child(name: str, waits: bool) -> None:
        with local_span(name):
            await (anyio.sleep_forever() if waits else anyio.lowlevel.checkpoint())

    with suppress(TimeoutError), entry_span("request"):
        async with anyio.create_task_group() as group:
            group.start_soon(child, "child", True, name="fetcher")
            group.start_soon(child, "went well", False, name="other")
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        with local_span("own"):
            raise TimeoutError
    assert {span.name: dict(span.tags) for span in recorder.only.spans} == {
        "child": {"outcome": "cancelled", "task": "fetcher"},
        "went well": {},
        "own": {"outcome": "timed_out"},
        "request": {"outcome": "timed_out"},
    }
    assert outcome(recorder, "went well") == OK


def test_a_task_without_a_name_to_give() -> None:
    assert name_of_task(OddError()) == name_of_task(None) == ""


def test_a_class_that_answers_for_another_is_taken_for_what_it_is() -> None:
    class Liar(Exception):
        @property
        def __class__(self) -> Any:
            return asyncio.CancelledError

        @__class__.setter
        def __class__(self, value: Any) -> None: ...

    assert outcome_of(Liar()) is Outcome.FAILED
