"""A forked child has the agent's memory but none of its tasks: the agent keeps still there."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

import swagent
from runtime.worlds import config, outcome, record
from swagent import Agent, local_span
from swagent.signals import Signal
from swagent.testing import MemoryCollector

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    # the agent's own thread is the point of these tests
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


@pytest.fixture(params=["asyncio", "uvloop", "trio"])
def collector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryCollector]:
    collector = MemoryCollector()
    monkeypatch.setattr("swagent.agent.find_transport", lambda _: collector.transport)
    monkeypatch.setenv("SW_AGENT_BACKEND", request.param)
    yield collector
    swagent.stop()


def started() -> Agent:
    return swagent.start(config(backend=os.environ["SW_AGENT_BACKEND"]))


def in_a_child(body: Callable[[], None]) -> None:
    """Run a function in a forked child, and fail if it fails or hangs there."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    done = threading.Event()
    codes: list[int] = []

    def wait() -> None:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        done.set()

    threading.Thread(target=wait).start()
    if not done.wait(10):
        os.kill(child, 9)
    assert done.wait(10)
    assert codes == [0]


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


def test_the_child_may_start_an_agent_of_its_own(collector: MemoryCollector) -> None:
    agent = started()

    def child() -> None:
        collector.records[Signal.SEGMENT].clear()
        own = started()
        record(4)
        swagent.stop()
        assert outcome(own) == {"confirmed": 4}
        assert collector.count(Signal.SEGMENT) == 4

    in_a_child(child)
    record(1)
    swagent.stop()
    assert outcome(agent) == {"confirmed": 1}


def test_a_span_that_was_open_at_the_fork_ends_quietly_in_the_child(collector: MemoryCollector) -> None:
    agent = started()
    with local_span("outer") as span:
        in_a_child(span.stop)
    swagent.stop()
    assert outcome(agent) == {"confirmed": 1}


@pytest.mark.parametrize("lock", ["channel", "tracer", "home"])
def test_a_lock_held_by_another_thread_at_the_fork_does_not_stop_the_child(
    collector: MemoryCollector, lock: str
) -> None:
    agent = started()
    span = local_span("open before the fork").start()
    held, release = threading.Event(), threading.Event()
    locks: dict[str, AbstractContextManager[Any]] = {
        "channel": agent._roads.channels[Signal.SEGMENT]._lock,
        "tracer": agent.tracer.lock,
        "home": swagent._thread_home._lock,
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
        record(1)
        agent.statistics()
        assert swagent.stop() is None

    try:
        in_a_child(child)
    finally:
        release.set()
        holder.join()
    span.stop()
