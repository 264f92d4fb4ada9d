"""Producers wait for room, first come, first served."""

from __future__ import annotations

import anyio
import pytest
from anyio.lowlevel import checkpoint

from stress.pipeline.room import Room

pytestmark = pytest.mark.anyio


async def test_no_more_is_taken_than_there_is() -> None:
    room, held = Room(10), 0

    async def produce() -> None:
        nonlocal held
        for _ in range(20):
            await room.take(3)
            held += 3
            assert held <= 10
            await checkpoint()
            held -= 3
            room.give(3)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(7):
                group.start_soon(produce)
    assert held == 0


async def test_a_caller_that_asks_for_much_is_not_passed_over() -> None:
    room, served = Room(10), list[int]()

    async def take(count: int) -> None:
        await room.take(count)
        served.append(count)

    await room.take(8)
    async with anyio.create_task_group() as group:
        for count in (9, 1):
            group.start_soon(take, count)
            await anyio.wait_all_tasks_blocked()
        assert served == []
        room.give(7)
        await anyio.wait_all_tasks_blocked()
        assert served == [9]
        room.give(1)
    assert served == [9, 1]


async def test_others_have_their_turn_while_there_is_room() -> None:
    room, turns = Room(1000), list[str]()

    async def produce(name: str) -> None:
        for _ in range(3):
            await room.take(1)
            turns.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(produce, "a")
        group.start_soon(produce, "b")
    assert sorted(turns[:2]) == ["a", "b"]
