"""A forked child has the agent's memory but none of its tasks: the agent keeps still there."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

import swagent
from kit.forks import FORKS, in_a_child
from runtime.worlds import config, outcome, record
from swagent import Agent, capture, local_span
from swagent.acceleration import native
from swagent.hosting import agent_thread
from swagent.signals import Signal
from swagent.testing import MemoryCollector

pytestmark = FORKS


@pytest.fixture(params=["asyncio", "uvloop", "trio"])
def collector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryCollector]:
    collector = MemoryCollector()
    monkeypatch.setattr("swagent.agent.find_transport", lambda _: collector.transport)
    monkeypatch.setenv("SW_AGENT_BACKEND", request.param)
    yield collector
    swagent.stop()


def started() -> Agent:
    return swagent.start(config(backend=os.environ["SW_AGENT_BACKEND"]))


def test_in_the_child_the_agent_is_inert_and_the_parents_is_unhurt(collector: MemoryCollector) -> None:
    agent = started()
    record(2)

    def child() -> None:
        record(3)
        assert swagent.stop() is None
        assert outcome(agent) == {}
        assert agent.statistics().segment.state == "forked"

    in_a_child(child)
    record(1)
    swagent.stop()
    assert outcome(agent) == {"confirmed": 3}
    assert len(set(collector.records[Signal.SEGMENT])) == 3


@pytest.mark.parametrize("amid", [nullcontext, lambda: local_span("request")], ids=["idle", "amid a span"])
def test_the_child_may_start_an_agent_of_its_own(
    collector: MemoryCollector, amid: Callable[[], AbstractContextManager[object]]
) -> None:
    """And its spans join no segment that was open at the fork."""
    agent = started()

    def child() -> None:
        collector.records[Signal.SEGMENT].clear()
        own = started()
        record(4)
        swagent.stop()
        assert outcome(own) == {"confirmed": 4}
        assert collector.count(Signal.SEGMENT) == 4

    with amid():
        in_a_child(child)
        record(1)
    swagent.stop()
    assert outcome(agent) == {"confirmed": 1}


def test_a_snapshot_carries_the_parents_trace_into_the_child(collector: MemoryCollector) -> None:
    started()

    def child() -> None:
        started()
        with snapshot, local_span("in the child") as span:
            assert span.trace_id == trace_id
        swagent.stop()

    with local_span("request") as request:
        snapshot, trace_id = capture(), request.trace_id
        in_a_child(child)
    swagent.stop()


def test_an_agent_in_the_child_leaves_nothing_of_the_parents_behind(collector: MemoryCollector) -> None:
    callbacks = len(gc.callbacks)
    swagent.start(config(backend=os.environ["SW_AGENT_BACKEND"], meter_reporter_active=True))
    # the clocks of the accelerator have one of their own
    assert len(gc.callbacks) == callbacks + (1 if native is None else 2)

    def child() -> None:
        assert len(gc.callbacks) == callbacks

    in_a_child(child)
    swagent.stop()


GOES_ON = """
import os, trio
from swagent import Agent, Config, local_span
from swagent.signals import Signal
from swagent.testing import MemoryCollector

collector = MemoryCollector()

def record(count):
    for _ in range(count):
        with local_span("work"):
            pass

async def go_on():
    beats = collector.heartbeats
    await trio.sleep(1.0)
    record(600)
    await trio.sleep(0.05)
    return collector.heartbeats - beats + collector.count(Signal.SEGMENT) - 1

async def main():
    async with Agent(Config(heartbeat_period=0.5), transport=collector.transport) as agent:
        record(1)
        assert await agent.flush()
        # records on their way at the fork arrive in the child, too
        beats = collector.heartbeats
        await collector.wait_until(lambda it: it.heartbeats > beats)
        if not os.fork():
            os._exit(await go_on())
        assert os.wait()[1] == 0, "the child sent the collector something"
        record(1)
    assert agent.statistics().segment.confirmed == 2

trio.run(main)
"""


@pytest.mark.gate
def test_a_child_of_a_trio_loop_that_goes_on_there_does_not_speak_for_the_parent() -> None:
    """On asyncio a child cannot await anything in its parent's loop."""
    done = subprocess.run([sys.executable, "-c", GOES_ON], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("lock", ["channel", "tracer", "names", "agent thread"])
def test_a_lock_held_by_another_thread_at_the_fork_does_not_stop_the_child(
    collector: MemoryCollector, lock: str
) -> None:
    agent = started()
    span = local_span("open before the fork").start()
    held, release = threading.Event(), threading.Event()
    locks: dict[str, AbstractContextManager[Any]] = {
        "channel": agent.pipelines.channels[Signal.SEGMENT]._lock,
        "tracer": agent.tracer.lock,
        "names": agent.tracer.endpoints._lock,
        "agent thread": agent_thread._lock,
    }

    def hold() -> None:
        with locks[lock]:
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()

    def child() -> None:
        span.stop()
        agent.tracer.endpoints.keep("GET:/")
        record(1)
        agent.statistics()
        assert swagent.stop() is None

    try:
        in_a_child(child)
    finally:
        release.set()
        holder.join()
    span.stop()
