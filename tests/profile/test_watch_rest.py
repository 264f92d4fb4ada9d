"""The watch over a loop that waits does not look, and still finds what holds it; on every loop."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from sniffio import current_async_library

from swagent.backend import loop_notifier
from swagent.inspection.kernel_timer import KernelTimer, _of_c_library, _of_python
from swagent.inspection.loop_turns import LoopTurns, turns_of_this_loop
from swagent.inspection.loop_view import view_of_this_loop
from swagent.profile import watch_rest
from swagent.profile.blocked_loop import Block
from swagent.profile.loop_watch import LoopWatch
from swagent.profile.watch_rest import LONG_TURN, WatchRest, rest_beside_this_loop

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="no timers of the kernel's"),
]

DEADLINE = 20.0
LIMIT = 0.1
NEVER = 3600.0


class Rest(WatchRest):
    """Says when it begins and ends."""

    def __init__(self, long_turn: float = LONG_TURN) -> None:
        super().__init__(_turns(), loop_notifier(), long_turn, after=0.0)
        self.begun, self.ended = threading.Event(), threading.Event()

    def take(self, is_stopped: Callable[[], bool]) -> float:
        self.begun.set()
        self.ended.clear()
        try:
            return super().take(is_stopped)
        finally:
            self.begun.clear()
            self.ended.set()


def _turns() -> LoopTurns:
    turns = turns_of_this_loop()
    assert turns is not None
    return turns


class Watched:
    """A watch over the running loop, the blocks that it reports, and whether it looks."""

    def __init__(self, rest: WatchRest, limit: float = LIMIT) -> None:
        self.rest = rest
        self.blocks: list[Block] = []
        self.view: Any = view_of_this_loop()
        self.looks = 0
        setattr(self.view, "is_run", self._is_run(self.view.is_run))  # noqa: B010  (it is a method)
        self.watch = LoopWatch(self.view, limit, self.blocks.append, rest)

    def _is_run(self, is_run: Callable[[], bool]) -> Callable[[], bool]:
        def counted() -> bool:
            self.looks += 1
            return is_run()

        return counted


@contextmanager
def watched(rest: Rest, limit: float = LIMIT) -> Iterator[Watched]:
    watched = Watched(rest, limit)
    try:
        yield watched
    finally:
        watched.watch.stop()
        assert not watched.watch._thread.is_alive()


async def _until(happened: threading.Event) -> None:
    with anyio.fail_after(DEADLINE):
        while not happened.is_set():  # noqa: ASYNC110  (a thread sets it)
            await anyio.sleep(0.005)


async def test_a_loop_that_waits_is_not_looked_at() -> None:
    with watched(Rest(NEVER)) as seen:
        await _until(seen.rest.begun)  # type: ignore[attr-defined]
        looks = seen.looks
        for _ in range(20):
            await anyio.sleep(0.002)
        assert seen.looks == looks
    assert not seen.blocks


async def test_what_a_timer_begins_is_found_while_it_holds_the_loop() -> None:
    with watched(rest := Rest()) as seen:
        await _until(rest.begun)
        # nothing else goes on in this loop
        await anyio.sleep(0.05)
        until = time.monotonic() + DEADLINE
        hold_the_loop(lambda: seen.watch._looked.is_set() and time.monotonic() < until)
        # a busy machine may have held it before, which was seen in place of this: once more, then
        with anyio.fail_after(DEADLINE):
            while not (found := [each for each in seen.blocks if __file__ in each.frame]):
                await anyio.sleep(0.05)
                until = time.monotonic() + 4 * LIMIT
                while time.monotonic() < until:
                    hold_the_loop(iter([True, False]).__next__)
    assert found[0].seconds >= LIMIT


def hold_the_loop(goes_on: Callable[[], bool]) -> None:
    while goes_on():
        time.sleep(0.005)


@pytest.mark.gate
async def test_a_loop_that_turns_often_wakes_the_watch_which_looks_again() -> None:
    with watched(rest := Rest(0.05)) as seen:
        await _until(rest.begun)
        looks = seen.looks
        with anyio.fail_after(DEADLINE):
            # short turns alone would never wake it
            while not rest.ended.is_set() or seen.looks < looks + 3:
                await anyio.lowlevel.checkpoint()


async def test_a_stop_ends_the_rest_and_takes_out_all_that_was_put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_rest, "_LONGEST_WAIT", NEVER)
    descriptors = os.listdir("/proc/self/fd")
    with watched(rest := Rest(NEVER)) as seen:
        await _until(rest.begun)
        assert _is_put(seen)
    # on trio the loop takes it out at its next turn
    await anyio.sleep(0.01)
    assert not _is_put(seen)
    assert len(os.listdir("/proc/self/fd")) <= len(descriptors)


def _is_put(seen: Watched) -> bool:
    turns: Any = seen.rest._turns
    if current_async_library() == "trio":
        import trio

        return turns in trio._core._run.GLOBAL_RUN_CONTEXT.runner.instruments["_all"]
    return turns._owner.__dict__.get(turns._name) is turns._hiding


async def test_a_timer_that_the_application_closes_ends_all_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_rest, "_LONGEST_WAIT", 0.01)
    with watched(rest := Rest(NEVER)) as seen:
        await _until(rest.begun)
        assert rest._timer is not None
        number, other = rest._timer._descriptor, os.open(os.devnull, os.O_RDONLY)
        os.dup2(other, number)
        await _until(rest.ended)
        looks = seen.looks
        with anyio.fail_after(DEADLINE):
            while seen.looks < looks + 3:  # noqa: ASYNC110  (a thread counts them)
                await anyio.sleep(0.005)
        assert not rest.begun.is_set()
    for each in (number, other):
        os.close(each)  # the application's own, which are open still


async def test_what_hides_a_method_meanwhile_stays_and_goes_on_to_work() -> None:
    if current_async_library() == "trio":
        pytest.skip("nothing is hidden there")
    turns: Any = _turns()
    begins: list[str] = []
    turns.enter(lambda: begins.append("first"), lambda: None)
    owner, name = turns._owner, turns._name
    hidden = getattr(owner, name)
    setattr(owner, name, lambda *args, **kwargs: hidden(*args, **kwargs))
    turns.leave()
    begins.clear()
    await anyio.sleep(0.01)
    assert not begins
    turns.enter(lambda: begins.append("again"), lambda: None)
    await anyio.sleep(0.01)
    assert set(begins) == {"again"}
    setattr(owner, name, hidden)
    turns.leave()
    assert name not in owner.__dict__ or owner.__dict__[name] is not hidden


@pytest.mark.parametrize("loop", ["asyncio", "uvloop", "trio"])
def test_a_turn_begins_before_a_task_goes_on_and_ends_before_the_loop_waits(loop: str) -> None:
    if find_spec(loop) is None:
        pytest.skip("no such loop")
    seen: list[str] = []

    async def main() -> None:
        turns = _turns()
        assert turns.enter(lambda: seen.append("begin"), lambda: seen.append("end"))
        seen.append("task")
        await anyio.sleep(0.01)
        seen.append("task")
        turns.leave()
        await anyio.lowlevel.checkpoint()
        seen.append("left")

    anyio.run(
        main,
        backend="trio" if loop == "trio" else "asyncio",
        backend_options={"use_uvloop": True} if loop == "uvloop" else {},
    )
    first, second = (number for number, each in enumerate(seen) if each == "task")
    assert "end" in seen[first:second]
    assert seen[second - 1] == "begin", "the step is part of a turn"
    assert seen[second + 1 :] == ["left"]


@pytest.mark.one_loop
async def test_a_loop_whose_turns_cannot_be_seen_is_looked_at_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(type(asyncio.get_running_loop())):  # type: ignore[misc]
        def _run_once(self) -> None:
            super()._run_once()

    other = Other()
    monkeypatch.setattr(asyncio, "_get_running_loop", lambda: other)
    try:
        assert rest_beside_this_loop() is None
    finally:
        other.close()


@pytest.mark.one_loop
@pytest.mark.parametrize("make", [_of_c_library, _of_python])
async def test_a_timer_wakes_at_its_time_and_not_when_it_was_cleared(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if make is _of_python and not hasattr(os, "timerfd_create"):
        pytest.skip("Python has none")
    monkeypatch.setattr("swagent.inspection.kernel_timer._of_python", make)
    monkeypatch.setattr("swagent.inspection.kernel_timer._of_c_library", make)
    timer = KernelTimer()
    timer.setter(0.001)()
    assert timer.wait(DEADLINE)
    timer.setter(0)()
    assert not timer.wait(0)
    timer.setter(NEVER + 0.5)()
    assert not timer.wait(0)
    os.close(timer._descriptor)
    timer.setter(0.001)()
    with pytest.raises(OSError, match="closed"):
        timer.wait(DEADLINE)
    timer.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
def test_a_timer_of_the_applications_that_has_its_number_is_left_alone() -> None:
    timer = KernelTimer()
    os.close(timer._descriptor)
    theirs = ctypes.CDLL(None).timerfd_create(time.CLOCK_MONOTONIC, 0)
    assert theirs == timer._descriptor
    with pytest.raises(OSError, match="closed"):
        timer.wait(0)
    timer.close()
    os.close(theirs)


SCRIPT = """
import asyncio, os, sys
from swagent.backend import loop_notifier
from swagent.inspection.loop_turns import turns_of_this_loop
from swagent.profile.watch_rest import WatchRest

async def main():
    selector = asyncio.get_running_loop()._selector
    rest = WatchRest(turns_of_this_loop(), loop_notifier(), 3600.0, after=0.0)
    rest.note(is_idle=True)
    while not rest.is_due():
        await asyncio.sleep(0)
    rest._timer.setter(0.001)()
    child = os.fork()
    if not child:
        rest.after_fork_in_child()
        # a turn of the child's, which would set the timer that it shares
        selector.select(0)
        os._exit(0)
    print(os.waitpid(child, 0)[1], rest._timer.wait(20))

asyncio.run(main())
"""


def test_a_forked_child_does_not_touch_its_parents_timer() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=50, check=False)
    assert done.stdout == "0 True\n", done.stderr


@pytest.mark.one_loop
async def test_without_a_timer_it_is_never_due() -> None:
    rest = Rest()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch_rest, "KernelTimer", _none)
        rest.note(is_idle=True)
        assert not rest.is_due()
    rest.note(is_idle=True)
    assert not rest.is_due(), "it is asked for once"


def _none() -> KernelTimer:
    raise OSError("no timer")
