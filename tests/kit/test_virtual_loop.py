"""The loop with a clock that jumps is asyncio's in all but the time that passes, and refuses what it cannot know."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from kit.virtual_loop import VirtualLoop, VirtualTimeError
from kit.virtual_time import jump, on_virtual_clocks, virtual_now

T = TypeVar("T")
HOUR = 3600.0
# Python 3.10 has no asyncio.timeout
DEADLINES: list[Any] = [anyio.fail_after, *filter(None, [getattr(asyncio, "timeout", None)])]


def run(function: Callable[[], Awaitable[T]]) -> T:
    """As `asyncio.run` does, through anyio, so that its threads work too."""
    options = {"debug": True, "loop_factory": VirtualLoop}
    return anyio.run(function, backend_options=options)


def loop() -> VirtualLoop:
    running = asyncio.get_running_loop()
    assert isinstance(running, VirtualLoop)
    return running


class TestTimers:
    def test_they_fire_in_their_order_at_exactly_their_times(self) -> None:
        async def main() -> list[tuple[str, float]]:
            fired: list[tuple[str, float]] = []

            def fire(name: str) -> None:
                fired.append((name, loop().time()))

            for name, delay in (("c", 3 * HOUR), ("a", 0.001), ("b", HOUR), ("b again", HOUR), ("none", 0.0)):
                loop().call_later(delay, fire, name)
            await asyncio.sleep(24 * HOUR * 3)  # asyncio cuts a wait that is longer than a day into pieces
            assert loop().time() == 24 * HOUR * 3
            return fired

        assert run(main) == [("none", 0.0), ("a", 0.001), ("b", HOUR), ("b again", HOUR), ("c", 3 * HOUR)]

    def test_one_that_was_cancelled_does_not_move_the_clock(self) -> None:
        async def main() -> float:
            loop().call_later(1, pytest.fail).cancel()
            await asyncio.sleep(5)
            assert loop().jumps == 1
            return loop().time()

        assert run(main) == 5

    def test_no_time_passes_while_anything_is_ready(self) -> None:
        async def main() -> float:
            loop().call_later(0.001, pytest.fail)
            began = time.monotonic()
            rounds = 0
            while time.monotonic() - began < 0.02 or rounds < 100:
                rounds += 1
                await asyncio.sleep(0)
            return loop().time()

        assert run(main) == 0

    def test_a_step_takes_the_time_that_the_test_gives_it(self) -> None:
        async def main() -> tuple[float, float]:
            waiting = asyncio.ensure_future(asyncio.sleep(1))
            await asyncio.sleep(0)
            loop().jump(3)
            await waiting
            with pytest.raises(ValueError, match="backwards"):
                loop().jump(-1)
            late = loop().time()
            await asyncio.sleep(1)
            return late, loop().time()

        assert run(main) == (3, 4)


def working(began: threading.Event, go_on: threading.Event) -> Callable[[], str]:
    def work() -> str:
        began.set()
        assert go_on.wait(30)
        return "done"

    return work


async def to_own_pool(work: Callable[[], str]) -> str:
    return await asyncio.get_running_loop().run_in_executor(None, work)


async def to_another_pool(work: Callable[[], str]) -> str:
    with ThreadPoolExecutor(1) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, work)


WAYS: list[Callable[[Callable[[], str]], Awaitable[str]]] = [
    to_own_pool,
    to_another_pool,
    asyncio.to_thread,
    anyio.to_thread.run_sync,
]


class TestThreads:
    @pytest.mark.parametrize("way", WAYS)
    def test_the_clock_is_stopped_while_one_works_for_the_loop(
        self, way: Callable[[Callable[[], str]], Awaitable[str]]
    ) -> None:
        async def main() -> None:
            began, go_on = threading.Event(), threading.Event()
            task = asyncio.ensure_future(way(working(began, go_on)))
            while not began.is_set():  # noqa: ASYNC110  (another thread says it)
                await asyncio.sleep(0)
            # the loop is asleep in the selector by then, with a timer that it must not jump to
            sleeping = asyncio.ensure_future(asyncio.sleep(HOUR))
            releasing = threading.Timer(0.05, go_on.set)
            releasing.start()
            assert await task == "done"
            releasing.join()
            assert not sleeping.done()
            assert loop().time() == 0
            await sleeping
            assert loop().time() == HOUR

        run(main)

    def test_a_job_that_is_no_longer_awaited_still_stops_the_clock(self) -> None:
        async def main() -> None:
            began, go_on, ended = threading.Event(), threading.Event(), threading.Event()

            def work() -> None:
                working(began, go_on)()
                ended.set()

            task = loop().run_in_executor(None, work)
            await asyncio.sleep(0)
            assert began.wait(30)
            task.cancel()
            threading.Timer(0.05, go_on.set).start()
            await asyncio.sleep(HOUR)
            assert ended.is_set()

        run(main)


class TestRefusals:
    def test_a_thread_that_the_loop_did_not_set_to_work(self) -> None:
        go_on = threading.Event()
        thread = threading.Thread(target=go_on.wait, args=(30,), name="stranger")

        async def main() -> None:
            thread.start()
            with suppress(Exception):  # as an agent does, which survives everything
                await asyncio.sleep(1)

        try:
            with pytest.raises(VirtualTimeError, match=r"jump by 1 s while these threads live: stranger\."):
                run(main)
        finally:
            go_on.set()
            thread.join()

    def test_the_call_of_a_thread_that_is_older_than_the_loop(self) -> None:
        calls: list[Callable[[], object]] = []
        there, called = threading.Event(), threading.Event()
        errors: list[BaseException] = []

        def live() -> None:
            assert there.wait(30)
            try:
                calls[0]()
            except VirtualTimeError as error:
                errors.append(error)
            called.set()

        thread = threading.Thread(target=live, name="older")
        thread.start()

        async def main() -> None:
            here = loop()
            calls.append(lambda: here.call_soon_threadsafe(print))
            there.set()
            assert called.wait(30)
            await asyncio.sleep(1)

        with pytest.raises(VirtualTimeError, match="'older' is older than the loop and has called in"):
            run(main)
        thread.join()
        assert len(errors) == 1

    @pytest.mark.parametrize("name", ["start_server", "create_subprocess_exec", "open_connection", "sock_recv"])
    def test_waits_for_others(self, name: str) -> None:
        """Even where the code under test takes the error for a peer's."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "start_server": lambda: asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0),
            "create_subprocess_exec": lambda: asyncio.create_subprocess_exec(sys.executable, "-c", ""),
            "open_connection": lambda: asyncio.open_connection("127.0.0.1", 9),
            "sock_recv": lambda: loop().sock_recv(ours, 1),
        }

        async def main() -> None:
            with suppress(VirtualTimeError):
                await calls[name]()

        with ours, theirs, pytest.raises(VirtualTimeError, match="cannot wait for sockets, pipes and child processes"):
            run(main)

    def test_a_loop_that_would_wait_for_ever(self) -> None:
        async def main() -> None:
            await asyncio.Event().wait()

        with pytest.raises(VirtualTimeError, match="never ends"):
            run(main)


@pytest.mark.anyio
@on_virtual_clocks
async def test_time_is_what_the_sleeps_make_of_it_on_both_loops() -> None:
    began = virtual_now()
    assert began == anyio.current_time()
    await anyio.sleep(HOUR)
    jump(2)
    with anyio.move_on_after(60) as scope:
        await anyio.sleep(HOUR)
    assert scope.cancelled_caught
    assert virtual_now() - began == pytest.approx(HOUR + 62)
