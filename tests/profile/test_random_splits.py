"""The split of random programs by the light clock is that of a clock that follows every step, to the millisecond.

Time is virtual, and passes in two ways only: a step holds the loop, or the loop waits for its next timer. So the time
for which the request ran is known to the programs themselves as well.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from kit.seeds import session_seed
from kit.virtual_loop import VirtualLoop
from swagent.acceleration import native
from swagent.profile import light_clock
from swagent.profile.asyncio_steps import steps_of_loop
from swagent.profile.request_tasks import RequestTasks
from swagent.profile.timed_steps import TimedSteps
from swagent.record.trace.outcome import running_task

from .full_clock import FullClock

PROGRAMS = 400
_LONGEST = 40


class Program:
    """The steps of a request, and the work beside it meanwhile; drawn from a seed."""

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self.draw = Random(seed)
        self.loop = loop
        self.events: list[asyncio.Event] = []
        self.ran = 0.0
        self.is_over = False

    async def request(self) -> None:
        """The request."""
        for _ in range(self.draw.randint(1, 6)):
            await self.step(0)
        self.hold(5)
        self.is_over = True

    async def step(self, depth: int) -> None:
        """One of the things that tasks do."""
        ways: list[Callable[[int], Awaitable[None]]] = [self.work, self.sleep, self.wait, self.turn, self.give_up]
        ways += [self.gather, self.begin, self.group, self.race] if depth < 3 else []
        await self.draw.choice(ways)(depth)

    async def work(self, _: int) -> None:
        self.hold(_LONGEST)

    async def turn(self, _: int) -> None:
        await asyncio.sleep(0)

    async def sleep(self, _: int) -> None:
        await asyncio.sleep(self.draw.randint(1, _LONGEST) / 1000)

    async def wait(self, _: int) -> None:
        event = asyncio.Event()
        self.events.append(event)
        await event.wait()

    async def give_up(self, _: int) -> None:
        """A deadline that ends a wait."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.loop.create_future(), self.draw.randint(1, _LONGEST) / 1000)

    async def gather(self, depth: int) -> None:
        tasks = [asyncio.ensure_future(self.child(depth)) for _ in range(self.draw.randint(1, 3))]
        await asyncio.gather(*tasks)

    async def begin(self, depth: int) -> None:
        task = asyncio.ensure_future(self.child(depth))
        self.hold(3)
        await task

    async def group(self, depth: int) -> None:
        if sys.version_info < (3, 11):
            return
        async with asyncio.TaskGroup() as group:
            for _ in range(self.draw.randint(1, 3)):
                group.create_task(self.child(depth))
                self.hold(2)

    async def race(self, depth: int) -> None:
        """The first of several tasks cancels the others."""
        tasks = [asyncio.ensure_future(self.child(depth)) for _ in range(2)]
        _, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def child(self, depth: int) -> None:
        for _ in range(self.draw.randint(1, 3)):
            await self.step(depth + 1)

    def hold(self, most: int) -> None:
        """Hold the loop, or not."""
        if self.draw.random() < 0.7:
            seconds = self.draw.randint(0, most) / 1000
            # a task that was cancelled with its parent may outlive the request
            self.ran += 0.0 if self.is_over else seconds
            self.loop.jump(seconds)

    async def beside(self, until: Callable[[], bool]) -> None:
        """The other work of the loop: it holds it, and lets the tasks of the request go on."""
        draw = Random(self.draw.random())
        while not until():
            await asyncio.sleep(draw.randint(0, 12) / 1000)
            if draw.random() < 0.5:
                self.loop.jump(draw.randint(0, _LONGEST) / 1000)
            if self.events and draw.random() < 0.7:
                self.events.pop(draw.randrange(len(self.events))).set()
            if draw.random() < 0.3:
                self.loop.jump(draw.randint(0, 5) / 1000)


async def run(program: Program, *, lists_tasks: bool) -> tuple[Sequence[float], Sequence[float]]:
    """Milliseconds of running, ready and awaiting, by the light clock and by the full one."""
    loop, is_done = program.loop, False
    others = [asyncio.ensure_future(program.beside(lambda: is_done)) for _ in range(2)]
    steps = steps_of_loop(loop)

    async def serve() -> tuple[Sequence[float], Sequence[float]]:
        full = FullClock(loop)
        steps.enter()
        tasks = RequestTasks(running_task()) if lists_tasks else None
        clock = TimedSteps(Stepped(program.request(), full), steps, loop.time(), tasks, is_user=False)
        await clock
        times = clock.stop(loop.time())
        steps.leave()
        assert times.ready is not None
        return (times.running, times.ready, times.awaiting), [seconds * 1000 for seconds in full.stop()]

    found = await asyncio.ensure_future(serve())
    is_done = True
    await asyncio.gather(*others)
    # a request that gave up a wait may leave tasks behind, some of which have not begun
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for each in left:
        each.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    return found


class Stepped:
    """The request's own task begins before the full clock does: this is where that clock sees the end of its step."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], clock: FullClock) -> None:
        self._coroutine = coroutine
        self._clock = clock
        self._is_first = True

    def __await__(self) -> Generator[Any, Any, None]:
        sent: Any = None
        error: BaseException | None = None
        while True:
            try:
                awaited = self._coroutine.send(sent) if error is None else self._coroutine.throw(error)
            except StopIteration:
                if not self._is_first:
                    self._clock.begin()
                return
            if self._is_first:
                self._is_first = False
                self._clock.end()
            error = None
            try:
                sent = yield awaited
            except BaseException as thrown:
                error = thrown


@pytest.mark.parametrize("lists_tasks", [False, True], ids=["light", "with the tasks"])
def test_the_light_clock_counts_as_the_full_one(lists_tasks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if native is not None:
        pytest.skip("Python's clock; the accelerator's reads the system's")
    sums = [0.0, 0.0, 0.0]
    for number in range(PROGRAMS):
        loop = VirtualLoop()
        seed = session_seed() * PROGRAMS + number
        program = Program(seed, loop)
        with monkeypatch.context() as patched:
            patched.setattr(light_clock, "monotonic", loop.time)
            patched.setattr(time, "monotonic", loop.time)
            light, full = loop.run_until_complete(run(program, lists_tasks=lists_tasks))
        loop.close()
        assert list(light) == pytest.approx(full, abs=1), f"seed {seed}"
        assert light[0] == pytest.approx(program.ran * 1000, abs=1), f"seed {seed}"
        sums = [before + now for before, now in zip(sums, full, strict=True)]
    assert min(sums) > 1000, "each state was there"
