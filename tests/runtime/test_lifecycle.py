"""An agent lives once, beside its host, and leaves nothing behind."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections import Counter

import anyio
import pytest

from runtime.worlds import FaultyTransport, agent_of, config, no_task_is_left, outcome, record
from swagent import Agent, AgentStateError
from swagent.abc import Transport
from swagent.record.trace import tracer as tracers
from swagent.signals import Signal
from swagent.testing import MemoryCollector

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup, ExceptionGroup

pytestmark = pytest.mark.anyio


class EndOfTheWorldError(BaseException):
    """An exception that is no Exception, like KeyboardInterrupt."""


async def test_entering_a_running_or_stopped_agent_is_an_error() -> None:
    async with agent_of(MemoryCollector()) as agent:
        with pytest.raises(AgentStateError):
            async with agent:
                pass
        record()
    assert outcome(agent) == {"confirmed": 1}
    for start in (agent.__aenter__, agent.start):
        with pytest.raises(AgentStateError):
            await start()


async def test_of_two_nested_agents_the_inner_one_records() -> None:
    outer, inner = MemoryCollector(), MemoryCollector()
    async with agent_of(outer):
        record(1)
        async with agent_of(inner):
            record(2)
        record(4)
    assert (outer.count(Signal.SEGMENT), inner.count(Signal.SEGMENT)) == (5, 2)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("host"),
        EndOfTheWorldError(),
        KeyboardInterrupt(),
        ExceptionGroup("hosts", [ValueError("one"), OSError("two")]),
        BaseExceptionGroup("hosts", [EndOfTheWorldError()]),
        StopIteration(1),
        StopAsyncIteration(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_exception_of_the_host_comes_out_as_it_is_after_a_flush(error: BaseException) -> None:
    agent = agent_of(MemoryCollector())
    caught: BaseException | None = None
    try:
        async with agent:
            record(2)
            raise error
    except BaseException as raised:
        caught = raised
    assert caught is error
    assert outcome(agent) == {"confirmed": 2}


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_nothing_is_left_after_a_thousand_lives() -> None:
    async def live(times: int) -> Counter[str]:
        for _ in range(times):
            agent = agent_of(MemoryCollector(), log_level="critical")  # pytest keeps every line
            async with agent:
                record()
            assert outcome(agent) == {"confirmed": 1}
        gc.collect()
        kinds = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
        return Counter(kind for kind in kinds if kind.startswith(("swagent", "anyio")))

    before = await live(100)
    threads = threading.active_count()
    with no_task_is_left():
        after = await live(1000)
    assert (after - before).total() <= 10, after - before
    assert threading.active_count() <= threads
    assert tracers.running() is None


class Unclosable(FaultyTransport):
    async def aclose(self) -> None:
        raise OSError("already gone")


class Unending(FaultyTransport):
    async def aclose(self) -> None:
        await anyio.sleep_forever()


@pytest.mark.parametrize("transport", [Unclosable, Unending])
async def test_a_transport_that_cannot_be_closed_holds_nothing_up(transport: type[FaultyTransport]) -> None:
    with anyio.fail_after(3), no_task_is_left():
        async with agent_of(transport) as agent:
            record()
            assert await agent.flush()
    assert outcome(agent) == {"confirmed": 1}


async def test_every_transport_is_closed_though_one_of_them_hangs() -> None:
    closed: list[int] = []

    class Half(FaultyTransport):
        async def aclose(self) -> None:
            if self._address.port == 1:
                await anyio.sleep_forever()
            closed.append(self._address.port)

    transport: type[Transport] = Half
    async with Agent(config(collector="memory:1,memory:2,memory:3"), transport=transport):
        pass
    assert sorted(closed) == [2, 3]


async def test_the_last_word_is_the_ledger(caplog: pytest.LogCaptureFixture) -> None:
    async with agent_of(MemoryCollector()):
        record(2)
    (last,) = [each for each in caplog.records if "stopped" in each.getMessage()]
    assert last.levelno == logging.INFO
    assert "offered 2, accepted 2, confirmed 2" in last.getMessage()


@pytest.mark.parametrize(
    ("collector", "exposed"),
    [
        ("127.0.0.1:11800,localhost:11800,[::1]:11800", ""),
        ("grpcs://oap:11800", ""),
        ("127.0.0.1:11800,oap:11800,grpcs://other:11800,10.0.0.1:11800", "oap:11800, 10.0.0.1:11800"),
    ],
)
async def test_plaintext_beyond_this_machine_is_warned_of(
    collector: str, exposed: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Agent(config(collector=collector), transport=MemoryCollector().transport):
        pass
    found = [each.getMessage() for each in caplog.records if "without TLS" in each.getMessage()]
    warning = f"telemetry goes to {exposed} without TLS; see force_tls, grpcs:// and https://"
    assert found == ([warning] if exposed else [])


async def test_statistics_before_the_start_are_empty() -> None:
    assert list(agent_of(MemoryCollector()).statistics()) == []
