"""A life, ended or hurt at one of its suspensions: three ways to end it, one to hurt it."""

from __future__ import annotations

import asyncio
import gc
import random
import warnings
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import anyio
import sniffio
import trio

from faults.steps.life import Life, World
from faults.steps.stepping import Steps, Suspension
from faults.steps.surroundings import nothing_is_left, only_abandoned
from kit.seeds import session_seed
from kit.stopwatch import Stopwatch

# A second for the last flush, and half of one to close what a peer does not let go of.
LONGEST_STOP = 1.5
# Nothing in here may hang; what does is noticed after so long.
_HANGS = 15.0

Trial = Callable[[World, int], Awaitable["tuple[Life, Steps]"]]


async def end_by_scope(world: World, at: int) -> tuple[Life, Steps]:
    """Cancel a scope around the application."""
    life, scope = Life(world), anyio.CancelScope()
    ending = _Ending(lambda _: scope.cancel())
    steps = Steps(at, ending.act)

    async def live() -> None:
        with scope:
            await life.live()

    with steps.watched():
        async with anyio.create_task_group() as group:
            group.start_soon(live)
    if steps.acted is not None:
        ending.check_in_time()
        assert scope.cancelled_caught, "the cancellation goes on"
    return life, steps


Tasks = set[asyncio.Task[Any]]


def natively(
    cancel: Callable[[Suspension, Tasks], object],
    *,
    spares: Callable[[Suspension], bool] = lambda _: False,
    after_its_begin: bool = False,
) -> Trial:
    """Cancel tasks as asyncio does it; the application ends with its own, and in time.

    :param cancel: gets the tasks that were there before, which are not the life's
    :param spares: whether the application's task goes on
    """

    async def trial(world: World, at: int) -> tuple[Life, Steps]:
        life = Life(world, lambda: steps.acted is not None and spares(steps.acted))
        others = asyncio.all_tasks()
        ending = _Ending(lambda suspension: cancel(suspension, others))
        steps = Steps(at, ending.act, lambda _: life.has_begun or not after_its_begin)
        task = await _live_in_task(life, steps)
        if steps.acted is not None and not spares(steps.acted):
            ending.check_in_time()
            assert task.cancelled(), f"the cancellation goes on: {task}"
        else:
            task.result()
            life.check_went_on()
        return life, steps

    return trial


end_natively = natively(lambda suspension, _: suspension.steps.host.cancel())
# whichever task waits; the application hears of its own only
cancel_any_task = natively(lambda suspension, _: suspension.task.cancel(), spares=lambda each: not each.is_host)
# as a server does that is asked to end once more
sweep_up = natively(lambda _, others: _cancel_all(others))
# As one does who tidies up before he ends, after the agent has begun: what is cancelled before its first turn can keep
# nothing from the application, whose task it is a child of.
sweep_up_others = natively(
    lambda suspension, others: _cancel_all(others | {suspension.steps.host}),
    spares=lambda _: True,
    after_its_begin=True,
)


def _cancel_all(others: set[asyncio.Task[Any]]) -> None:
    for task in asyncio.all_tasks() - others:
        task.cancel()


def fail_with(make: Callable[[int], BaseException]) -> Trial:
    """Let what a task waits for fail, if it is any but the application's own.

    :param make: the error for the n-th suspension
    """

    async def fail(world: World, at: int) -> tuple[Life, Steps]:
        life = Life(world, lambda: steps.acted is not None)
        steps = Steps(at, lambda suspension: suspension.throw(make(at)), _is_agents)

        async def live() -> None:
            steps.host = _current_task()
            await life.live()

        with steps.watched():
            async with anyio.create_task_group() as group:
                group.start_soon(live)
        life.check_went_on()
        return life, steps

    return fail


def _is_agents(suspension: Suspension) -> bool:
    # a flush waits inside the application's call, and for nothing but the agent's own event
    return not suspension.is_host and suspension.can_fail and "Pipelines.flush.<locals>.flush" not in suspension.stack


class _Ending:
    """The act at the suspension, and its time."""

    def __init__(self, act: Callable[[Suspension], object]) -> None:
        self._act = act
        self._began = 0.0
        self._watch = Stopwatch()

    def act(self, suspension: Suspension) -> None:
        self._began, self._watch = _now(), Stopwatch()
        self._act(suspension)

    def check_in_time(self) -> None:
        # by the loop's own clock, which may be a virtual one
        took = _now() - self._began - (self._watch.seconds - self._watch.own_seconds)
        assert took <= LONGEST_STOP, f"took {took:.2f} s to end"


async def _live_in_task(life: Life, steps: Steps) -> asyncio.Task[None]:
    with steps.watched():
        task = steps.host = asyncio.get_running_loop().create_task(life.live())
        await asyncio.wait([task])
    return task


def _now() -> float:
    return trio.current_time() if sniffio.current_async_library() == "trio" else asyncio.get_running_loop().time()


def _current_task() -> object:
    return trio.lowlevel.current_task() if sniffio.current_async_library() == "trio" else asyncio.current_task()


# -- many lives -------------------------------------------------------------------------------------------------------


async def try_at_each(world: World, trial: Trial) -> int:
    """Live once for each suspension that there is, and once without; returns how many there are."""
    at = 1
    while (await _try(world, trial, at)).acted is not None:
        at += 1
    return at - 1


async def try_at_some(world: World, trial: Trial, number: int, *, may_leave: bool = False) -> int:
    """Live for so many suspensions, spread over a whole life by a seed that is printed; returns how many were met.

    :param may_leave: whether something may be left: a library that failed at any point cannot be held to it
    """
    await world.prepare()
    _, steps = await trial(world, 0)
    seed, there_are, met = session_seed(), steps.count, 0
    print(f"seed {seed}: {number} of {there_are} suspensions")
    generator = random.Random(seed)
    # around all of them: what one left behind may be reported in the next
    with only_abandoned() if may_leave else nullcontext():
        for each in range(number):
            share = (each + generator.random()) / number
            steps = await _try(world, trial, max(1, round(share * there_are)), may_leave=may_leave)
            if steps.acted is None:
                # lives are not equally long: this one was over before, and says how long one may be
                there_are = min(there_are, steps.count)
                steps = await _try(world, trial, max(1, round(share * there_are)), may_leave=may_leave)
            met += steps.acted is not None
    return met


def _drop_what_was_left() -> None:
    # while the loop runs: uvloop closes no loop that has a connection open
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


async def _try(world: World, trial: Trial, at: int, *, may_leave: bool = False) -> Steps:
    """Live once, up to that suspension if there is one, and look at what came of it."""
    try:
        with anyio.fail_after(_HANGS), nullcontext() if may_leave else nothing_is_left():
            await world.prepare()
            life, steps = await trial(world, at)
        life.check_ledger()
        life.check_arrived()
        steps.forget()
        del life
        if may_leave or "close" in steps.place:
            _drop_what_was_left()  # an object that may not close leaves something open
        else:
            await world.check_let_go()
    except BaseException:
        print(f"at {at}: {Steps.latest.place}")
        raise
    return steps
