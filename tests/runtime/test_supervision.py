"""A fault inside the agent stays inside: counted, restarted, and at last switched off."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import anyio
import pytest
import sniffio

from kit.virtual_time import on_virtual_clocks
from runtime.worlds import ASYNCIO, ASYNCIO_IDS, agent_of, outcome, raising, record
from swagent import Agent
from swagent.agent_log import RateLimitedLog
from swagent.pipeline.reporter import Reporter
from swagent.runtime.heartbeat import Heartbeat
from swagent.runtime.supervisor import Supervisor
from swagent.signals import Signal
from swagent.testing import MemoryCollector, MemoryTransport

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup, ExceptionGroup

pytestmark = pytest.mark.anyio

CRASHES: list[Callable[[], BaseException]] = [
    lambda: ValueError("bug"),
    MemoryError,
    lambda: ExceptionGroup("bugs", [ValueError("one"), OSError("two")]),
    RecursionError,
]
CRASH_IDS = ["ValueError", "MemoryError", "ExceptionGroup", "RecursionError"]


async def stray() -> NoReturn:
    """The exception that a client library leaks when one of its futures is cancelled."""
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.cancel)
    await future
    raise AssertionError("unreachable")


@pytest.fixture
def quick_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    class AtOnce:
        def delay(self, *_: object) -> float:
            return 0.0

    monkeypatch.setattr("swagent.runtime.supervisor._BACKOFF", AtOnce())


async def lives_well(agent: Agent) -> None:
    """The host notices nothing and everything is delivered."""
    async with agent:
        record(3)
        with anyio.fail_after(5):
            assert await agent.flush(5)
        await anyio.lowlevel.checkpoint()
    assert outcome(agent) == {"confirmed": 3}


@pytest.mark.usefixtures("quick_restarts")
@pytest.mark.parametrize("owner", [Reporter, Heartbeat])
@pytest.mark.parametrize("crash", CRASHES, ids=CRASH_IDS)
async def test_a_crashed_child_is_started_again(
    monkeypatch: pytest.MonkeyPatch, owner: type, crash: Callable[[], BaseException]
) -> None:
    monkeypatch.setattr(owner, "run", crashing_once(owner, crash))
    await lives_well(agent_of(MemoryCollector()))


@pytest.mark.usefixtures("quick_restarts")
@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=ASYNCIO_IDS)
@pytest.mark.parametrize("owner", [Reporter, Heartbeat])
@pytest.mark.parametrize("crash", [asyncio.CancelledError, lambda: BaseExceptionGroup("?", [asyncio.CancelledError()])])
async def test_a_stray_cancellation_is_a_crash(
    monkeypatch: pytest.MonkeyPatch, owner: type, crash: Callable[[], BaseException]
) -> None:
    monkeypatch.setattr(owner, "run", crashing_once(owner, crash))
    await lives_well(agent_of(MemoryCollector()))


def crashing_once(owner: Any, crash: Callable[[], BaseException]) -> Callable[[Any], Any]:
    run = owner.run
    crashes = [crash]

    async def child(self: Any) -> None:
        await anyio.lowlevel.checkpoint()
        if crashes:
            crash = crashes.pop()
            raise crash()
        await run(self)

    return child


@pytest.mark.usefixtures("quick_restarts")
@pytest.mark.parametrize("method", ["send", "report_properties"])
async def test_a_transport_that_breaks_its_contract_costs_its_batch_at_most(method: str) -> None:
    collector = MemoryCollector()
    broken = [True]

    class Broken(MemoryTransport):
        pass

    async def misbehave(self: MemoryTransport, *args: Any) -> None:
        if broken:
            broken.pop()
            if sniffio.current_async_library() == "asyncio":
                await stray()
            raise ValueError("bug")
        await getattr(MemoryTransport, method)(self, *args)

    setattr(Broken, method, misbehave)
    Broken.collector = collector
    async with agent_of(Broken) as agent:
        record(2)
        with anyio.fail_after(5):
            await agent.flush(5)
        record(3)
        with anyio.fail_after(5):
            assert await agent.flush(5)
    assert collector.count(Signal.SEGMENT) == (3 if method == "send" else 5)
    assert sum(outcome(agent).values()) == 5
    assert not broken


@pytest.mark.usefixtures("quick_restarts")
@pytest.mark.parametrize("owner", [Reporter, Heartbeat])
async def test_after_five_crashes_the_signal_is_switched_off_visibly(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, owner: type
) -> None:
    monkeypatch.setattr(owner, "run", raising(ValueError("bug")))
    agent = agent_of(MemoryCollector(), shutdown_timeout=300)
    with anyio.fail_after(3):
        async with agent:
            record(3)
            while agent.statistics().segment.state == "on":
                await anyio.lowlevel.checkpoint()
            record(2)
            assert agent.statistics().segment.state == "disabled"
    assert outcome(agent) == {"dropped internal": 3, "refused disabled": 2}
    assert [each.levelno for each in caplog.records if "switched off" in each.getMessage()] == [logging.ERROR]


@pytest.mark.usefixtures("quick_restarts")
async def test_a_signal_switched_off_with_a_batch_on_its_way_still_stops_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reporter waits for a collector that is not looked for any more."""
    monkeypatch.setattr(Heartbeat, "run", raising(ValueError("bug")))
    agent = agent_of(MemoryCollector(), shutdown_timeout=300)
    with anyio.fail_after(3):
        async with agent:
            record(512)
            while agent.statistics().segment.state == "on":
                await anyio.lowlevel.checkpoint()
    assert outcome(agent) == {"dropped internal": 512}


async def supervise(child: Callable[[], Awaitable[None]], switch_off: Callable[..., object]) -> None:
    """Until the child has returned, or was given up."""
    async with anyio.create_task_group() as group:
        group.start_soon(Supervisor(child, "child", RateLimitedLog(), switch_off, anyio.Event()).run, group)


@pytest.mark.parametrize("anyio_backend", ["trio"])  # asyncio ends the whole run at once
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["KeyboardInterrupt", "SystemExit"])
async def test_the_end_of_the_process_is_let_out(error: BaseException) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        await supervise(raising(error), pytest.fail)
    assert caught.value.exceptions == (error,)


@on_virtual_clocks
class TestSupervisor:
    """On a clock that jumps."""

    async def test_restarts_back_off(self) -> None:
        starts: list[float] = []

        async def child() -> None:
            starts.append(anyio.current_time())
            if len(starts) < 5:
                raise ValueError("bug")

        began = anyio.current_time()
        await supervise(child, lambda: None)
        assert [round(each - began, 3) for each in starts] == [0.0, 1.0, 3.0, 7.0, 15.0]

    async def test_crashes_now_and_then_are_not_the_end(self) -> None:
        starts = 0

        async def child() -> None:
            nonlocal starts
            starts += 1
            await anyio.sleep(20.0)
            if starts < 50:
                raise ValueError("bug")

        await supervise(child, pytest.fail)
        assert starts == 50
