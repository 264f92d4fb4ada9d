"""A request that waits for a lock, a semaphore, a limiter, a queue: by which name, on every loop."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import sniffio
import trio

from asgi.calling import call, http_scope, tags, traced
from swagent.asgi.lifespan import Receive, Scope, Send

from .profiled import answer

pytestmark = pytest.mark.anyio

HELD = re.compile(r"(\S+) at profile/test_lock_waits.py:(\d+), held at profile/test_lock_waits.py:(\d+)")
HERE = (asyncio.Lock, asyncio.Semaphore, asyncio.BoundedSemaphore)
THERE = (trio.Lock, trio.StrictFIFOLock, lambda: trio.Semaphore(1), lambda: trio.CapacityLimiter(1))
EVERYWHERE = (anyio.Lock, lambda: anyio.Semaphore(1), lambda: anyio.CapacityLimiter(1))


def is_on_trio() -> bool:
    return sniffio.current_async_library() == "trio"


class Turn:
    """A thing that a request waits for, and that another task has until the request has waited for 20 ms."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.is_taken, self.is_asked = anyio.Event(), anyio.Event()

    async def pass_(self) -> None:
        """Have it for so long."""
        self.is_taken.set()
        await self.is_asked.wait()
        await anyio.sleep(0.02)


async def names_of_waits(
    wait: Callable[[Any], Any], let_go: Callable[[Turn], Any], thing: Any, tree: int = 0
) -> list[str]:  # fmt: skip
    """What a request says that it waited for, the longest first.

    :param wait: the request awaits it with the thing
    :param let_go: the other task awaits it: it has the thing, and lets it go
    """
    turn = Turn(thing)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        turn.is_asked.set()
        await wait(thing)
        await answer(send)

    async with traced(app, time_split_every=1, task_tree_every=tree) as shop, anyio.create_task_group() as group:
        group.start_soon(let_go, turn)
        await turn.is_taken.wait()
        await call(shop.app, http_scope())
        awaited = json.loads(tags(await shop.span())["time.awaited"])
    return [str(name) for name, *_ in awaited]


async def name_of_wait(
    wait: Callable[[Any], Any], let_go: Callable[[Turn], Any], thing: Any, tree: int = 0
) -> str:  # fmt: skip
    """What a request says that it waited for, where that is one thing."""
    return (await names_of_waits(wait, let_go, thing, tree))[0]


async def _take(lock: Any) -> None:
    async with lock:
        pass


async def _hold(turn: Turn) -> None:
    async with turn.thing:
        await turn.pass_()


TAKEN = _take.__code__.co_firstlineno + 1
KEPT = _hold.__code__.co_firstlineno + 1


async def _name_of(make: Callable[[], Any], tree: int = 0) -> tuple[str, int, int]:
    name = await name_of_wait(_take, _hold, make(), tree)
    match = HELD.fullmatch(name)
    assert match is not None, name
    return match[1], int(match[2]), int(match[3])


@pytest.mark.parametrize("tree", [0, 1], ids=["its own task", "its tasks are listed"])
async def test_a_lock_has_its_class_and_the_lines_that_waited_and_held_it(tree: int) -> None:
    if is_on_trio():
        names = [(await _name_of(make, tree)) for make in THERE]
        expected = ["trio.Lock", "trio.StrictFIFOLock", "trio.Semaphore", "trio.CapacityLimiter"]
    else:
        names = [(await _name_of(make, tree)) for make in HERE]
        expected = ["asyncio.Lock", "asyncio.Semaphore", "asyncio.BoundedSemaphore"]
    assert [name for name, _, _ in names] == expected
    assert {line for _, line, _ in names} == {TAKEN}
    # before 3.11 the line at which a block ends is its last one
    assert all(KEPT <= line <= KEPT + 2 for _, _, line in names)


async def test_anyios_locks_have_their_own_names() -> None:
    names = [(await _name_of(make)) for make in EVERYWHERE]
    package = "trio" if is_on_trio() else "anyio"
    assert [name for name, _, _ in names] == [f"{package}.{kind}" for kind in ("Lock", "Semaphore", "CapacityLimiter")]
    assert {line for _, line, _ in names} == {TAKEN}


async def test_a_thread_that_waits_for_the_limiter_is_no_work_in_a_thread() -> None:
    limiter = anyio.CapacityLimiter(1)

    async def in_thread(limiter: Any) -> None:
        await anyio.to_thread.run_sync(lambda: None, limiter=limiter)

    names = await names_of_waits(in_thread, _hold, limiter)
    # the thread's own work may have taken longer: a busy machine lets it begin late
    held = re.compile(r"(anyio|trio)\.CapacityLimiter at profile/test_lock_waits.py:\d+, held at ")
    assert sum(held.match(name) is not None for name in names) == 1, names


async def test_what_has_no_holder_has_its_method() -> None:
    async def put(turn: Turn) -> None:
        await turn.pass_()
        turn.thing.put_nowait(1)

    async def set_it(turn: Turn) -> None:
        await turn.pass_()
        turn.thing.set()

    async def notify(turn: Turn) -> None:
        await turn.pass_()
        async with turn.thing:
            turn.thing.notify_all()

    async def wait_for_notice(condition: Any) -> None:
        async with condition:
            await condition.wait()

    if is_on_trio():
        assert await name_of_wait(lambda event: event.wait(), set_it, trio.Event()) == "trio.Event.wait"
        assert await name_of_wait(wait_for_notice, notify, trio.Condition()) == "trio.Condition.wait"
        return
    assert await name_of_wait(lambda event: event.wait(), set_it, asyncio.Event()) == "asyncio.Event.wait"
    assert await name_of_wait(lambda queue: queue.get(), put, asyncio.Queue[int]()) == "asyncio.Queue.get"
    assert await name_of_wait(wait_for_notice, notify, asyncio.Condition()) == "asyncio.Condition.wait"
    assert await name_of_wait(wait_for_notice, notify, anyio.Condition()) == "anyio.Condition.wait"


async def test_a_subclass_of_the_applications_has_the_librarys_name() -> None:
    class Guarded(asyncio.Lock):
        pass

    if not is_on_trio():
        assert (await _name_of(Guarded))[0] == "asyncio.Lock"
