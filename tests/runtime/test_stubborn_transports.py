"""Transports that do not end when they are cancelled: the agent stops in time all the same, and counts their batches.

On trio that goes for transports that run in a thread. A task of trio's own cannot be left behind: where a transport
runs on trio by itself, the agent waits for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import ClassVar

import anyio
import anyio.to_thread
import pytest

from kit.stopwatch import Stopwatch
from runtime.worlds import ASYNCIO, ASYNCIO_IDS, FaultyTransport, agent_of, outcome, record, under_way
from swagent import stop_budgets
from swagent.abc import Instance, Runtime
from swagent.signals import Signal

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("anyio_backend", [*ASYNCIO, ("trio", {})], ids=[*ASYNCIO_IDS, "trio"]),
]

# For the steps themselves, and what a machine that does other things, too, may add.
SLACK = 1.0
SHUTDOWN = 0.3
PATIENCE = 5.0


class Stubborn:
    """Waits, whatever comes, until it is let go, or its loop ends."""

    def __init__(self) -> None:
        self._let_go: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._ended: list[threading.Event] = []

    async def wait(self) -> None:
        let_go, ended = asyncio.Event(), threading.Event()
        self._let_go.append((asyncio.get_running_loop(), let_go))
        self._ended.append(ended)
        try:
            while not let_go.is_set():
                with suppress(asyncio.CancelledError):
                    await let_go.wait()
        finally:
            ended.set()

    async def let_go(self) -> None:
        """Let go, and wait until nothing waits in here any more."""
        for loop, event in self._let_go:
            with suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(event.set)
        for ended in self._ended:
            assert await anyio.to_thread.run_sync(ended.wait, PATIENCE)


@pytest.fixture
async def stubborn() -> AsyncIterator[Stubborn]:
    found = Stubborn()
    yield found
    await found.let_go()


def deaf_at(*methods: str, stubborn: Stubborn) -> type[FaultyTransport]:
    """A transport whose methods do not hear a cancellation."""

    class Deaf(FaultyTransport):
        runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio"})

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
        if "send" in methods:
            await agent.flush(0.2)
            await under_way(agent, 2)
        else:
            assert await agent.flush(PATIENCE)
        watch = Stopwatch()
    assert watch.own_seconds < SHUTDOWN + stop_budgets.CLOSE + SLACK
    assert outcome(agent) == ({"dropped ambiguous": 2} if "send" in methods else {"confirmed": 2})


async def test_a_cancellation_from_outside_goes_on_in_time(stubborn: Stubborn) -> None:
    agent = agent_of(deaf_at("send", "aclose", stubborn=stubborn))
    with anyio.CancelScope() as scope:
        async with agent:
            record(2)
            await agent.flush(0.1)
            watch = Stopwatch()
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert watch.own_seconds < stop_budgets.CANCELLED_FLUSH + stop_budgets.CLOSE + SLACK
    assert outcome(agent) == {"dropped ambiguous": 2}
