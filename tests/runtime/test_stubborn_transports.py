"""Transports that do not end when they are cancelled: the agent stops in time all the same, and counts their batches.

Not on trio, where a task cannot be left behind: there the agent waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import anyio
import pytest

from runtime.worlds import ASYNCIO, ASYNCIO_IDS, FaultyTransport, agent_of, outcome, record
from swagent import stop_budgets
from swagent.abc import Instance
from swagent.signals import Signal

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=ASYNCIO_IDS)]

# What a machine that does other things, too, may add.
SLACK = 0.3
SHUTDOWN = 0.3


class Stubborn:
    """Waits, whatever comes, until it is let go."""

    def __init__(self) -> None:
        self.let_go = anyio.Event()
        self.waiting: set[asyncio.Task[object] | None] = set()

    async def wait(self) -> None:
        self.waiting.add(asyncio.current_task())
        while not self.let_go.is_set():
            with suppress(asyncio.CancelledError):
                await self.let_go.wait()


@pytest.fixture
async def stubborn() -> AsyncIterator[Stubborn]:
    found = Stubborn()
    yield found
    found.let_go.set()
    await asyncio.wait([task for task in found.waiting if task is not None])


def deaf_at(*methods: str, stubborn: Stubborn) -> type[FaultyTransport]:
    """A transport whose methods do not hear a cancellation."""

    class Deaf(FaultyTransport):
        async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
            if "send" in methods:
                await stubborn.wait()

        async def keep_alive(self, instance: Instance) -> None:
            if "keep_alive" in methods:
                await stubborn.wait()

        async def aclose(self) -> None:
            if "aclose" in methods:
                await stubborn.wait()

    return Deaf


@pytest.mark.parametrize("methods", [("send",), ("aclose",), ("send", "keep_alive", "aclose")], ids="+".join)
async def test_stopping_keeps_its_deadline(stubborn: Stubborn, methods: tuple[str, ...]) -> None:
    agent = agent_of(deaf_at(*methods, stubborn=stubborn), shutdown_timeout=SHUTDOWN, heartbeat_period=0.05)
    async with agent:
        record(2)
        await agent.flush(0.2)
        began = anyio.current_time()
    assert anyio.current_time() - began < SHUTDOWN + stop_budgets.CLOSE + SLACK
    assert outcome(agent) == ({"dropped ambiguous": 2} if "send" in methods else {"confirmed": 2})


async def test_a_cancellation_from_outside_goes_on_in_time(stubborn: Stubborn) -> None:
    agent = agent_of(deaf_at("send", "aclose", stubborn=stubborn))
    with anyio.CancelScope() as scope:
        async with agent:
            record(2)
            await agent.flush(0.1)
            began = anyio.current_time()
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert anyio.current_time() - began < stop_budgets.CANCELLED_FLUSH + stop_budgets.CLOSE + SLACK
    assert outcome(agent) == {"dropped ambiguous": 2}


async def test_what_was_left_behind_changes_nothing_when_it_ends_after_all(
    stubborn: Stubborn, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_of(deaf_at("send", stubborn=stubborn), shutdown_timeout=0.0)
    async with agent:
        record(2)
        await agent.flush(0.1)
    stubborn.let_go.set()
    await asyncio.wait([task for task in stubborn.waiting if task is not None])
    assert outcome(agent) == {"dropped ambiguous": 2}
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]
