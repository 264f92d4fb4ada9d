"""A step of a task that takes long leaves its place in the code with the task's span, on every loop.

The handlers run until the watch has seen them, and for no fixed time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import anyio.lowlevel
import pytest

from asgi.calling import call, http_scope, tags, traced
from swagent import current_span, local_span
from swagent.collector.store.trace_records import Span
from swagent.profile.long_steps import LongSteps
from swagent.profile.loop_watch import LoopWatch

from .profiled import handling

pytestmark = pytest.mark.anyio

LIMIT = 1000
"""Milliseconds: the watch looks twice in it, so a step is seen long before."""
SHORT_LIMIT = 300
DEADLINE = 20.0


def compute_until(event: str) -> None:
    """Work until the active span has the log of an event."""
    span = current_span()
    assert span is not None
    until = time.monotonic() + DEADLINE
    while not any(("event", event) in data for _, data in span.logs) and time.monotonic() < until:
        time.sleep(0.002)


async def logs_of(work: Callable[[], object], limit: float) -> tuple[Span, list[dict[str, str]]]:
    """The span of a request that does this in one step after a wait, and its logs."""

    async def wait_and_work() -> None:
        await anyio.lowlevel.checkpoint()
        work()

    async with traced(handling(wait_and_work), loop_block_limit=limit) as shop:
        await call(shop.app, http_scope("/report"))
        [segment] = await shop.segments()
    [span] = [each for each in segment.spans if each.kind == "Entry"]
    return span, [dict(log.data) for each in segment.spans for log in each.logs]


async def test_a_step_that_takes_long_has_its_place() -> None:
    span, [log] = await logs_of(lambda: compute_until("own.code"), LIMIT)
    assert log["event"] == "own.code"
    assert log["frame"].endswith(" compute_until")
    assert "in compute_until" in log["stack"].splitlines()[-1]
    assert "loop.blocked" not in tags(span)


async def test_the_span_that_is_active_has_it_and_one_place_only() -> None:
    def work() -> None:
        with local_span("weigh"):
            compute_until("own.code")
            # those that a second look finds are no news
            view: Any = _View(task := SimpleNamespace(get_context=copy_context))
            steps = LongSteps(view)
            near.append(steps.are_near())
            steps.note(task)
            near.append(steps.are_near())

    near: list[bool] = []

    span, logs = await logs_of(work, LIMIT)
    assert [log["event"] for log in logs] == ["own.code"]
    assert not span.logs
    assert near == [False, True]


async def test_a_step_that_holds_the_loop_for_the_limit_has_the_log_of_that_alone() -> None:
    def work() -> None:
        compute_until("own.code")
        compute_until("loop.blocked")

    _, logs = await logs_of(work, SHORT_LIMIT)
    assert [log["event"] for log in logs] == ["loop.blocked"]


async def test_a_task_that_has_gone_on_leaves_nothing() -> None:
    def work() -> None:
        task, other = SimpleNamespace(get_context=copy_context), SimpleNamespace(get_context=copy_context)
        for running in ([other], [task, other], [task, None]):
            view: Any = _View(*running)
            steps = LongSteps(view)
            steps.note(task)
            assert not steps.are_near()

    _, logs = await logs_of(work, 0)
    assert logs == []


class _View:
    """A loop that runs these tasks, one at each look; then the last one."""

    thread = threading.get_ident()

    def __init__(self, *tasks: Any) -> None:
        self._tasks = [*tasks]
        self.asked = 0
        self.turns = True
        self.is_asked = threading.Event()

    def running(self) -> Any:
        return self._tasks.pop(0) if len(self._tasks) > 1 else self._tasks[0]

    def is_run(self) -> bool:
        return True

    def is_idle(self) -> bool:
        return False

    def notify(self, function: Callable[[], object]) -> None:
        self.asked += 1
        if self.turns:
            function()
        if self.asked > 3:
            self.is_asked.set()


@pytest.mark.one_loop
@pytest.mark.parametrize("limit", [0.08, 0.02])
async def test_a_loop_that_turns_is_not_looked_into(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Any] = []
    monkeypatch.setattr(LongSteps, "note", lambda _, running: noted.append(running))
    view: Any = _View(object())
    watch = LoopWatch(view, limit, lambda _: None)
    assert view.is_asked.wait(DEADLINE)
    watch.stop()
    assert noted == []
