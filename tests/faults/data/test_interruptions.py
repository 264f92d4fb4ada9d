"""C06: finalisers and signal handlers record while their own thread is inside the agent's code, on every event loop."""

from __future__ import annotations

import gc
import itertools
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import anyio
import pytest

from faults.covering import covers
from swagent import Agent, Config, entry_span, local_span
from swagent.meters import Counter
from swagent.record.meters.registry import MeterRegistry
from swagent.record.meters.samples import SingleSample
from swagent.record.suppression import suppress_instrumentation
from swagent.signals import Signal
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio

# longer than any of these may take; a deadlock is what it is for
_WATCHDOG = 50.0
_ENOUGH = 200
# How often the garbage of one piece of work breaks in, after the first time.
_AGAIN = 9
_LOCKED = {"Channel", "SegmentIntake", "MeterRegistry"}
_CONFIG = Config(service="shop", instance="one", meter_reporter_active=False, event_reporter_active=False)
_log = logging.getLogger("interrupted")
# A handler on the root logger may hold a lock of the standard library, which is not made to be broken into.
_log.propagate = False
_log.addHandler(logging.NullHandler())


class Recorded:
    """The records, by the application's code and by the code that broke into it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.counter = Counter("work", registry=MeterRegistry(limit=20_000))
        self.nested = 0
        self.unheard = 0
        self.outer = 0
        self.locked: set[str] = set()
        self._is_inside = False

    def work(self) -> None:
        """The work of an application."""
        with entry_span("GET:/work") as span:
            span.tag("number", self.outer).headers()
            self.counter.labels(number=self.outer).increment()  # a new series, for what is allocated with it
            with local_span("child"):
                _log.error("at work")
        self.outer += 1

    def interrupt(self, frame: FrameType | None) -> None:
        """The same from inside, but not from inside of itself."""
        if self._is_inside:
            return
        self._is_inside = True
        self.locked |= set(_held(frame))
        with entry_span("interruption") as span:
            # code that runs in the agent's own tasks counts as its own work
            assert span.is_recorded != suppress_instrumentation.get()
            self.unheard += not span.is_recorded
            self.counter.labels(kind="interruption").increment()
            _log.error("interrupting")
        self.agent.statistics()
        self.nested += 1
        self._is_inside = False


def _held(frame: FrameType | None) -> Iterator[str]:
    """Whose locks the thread holds there."""
    while frame is not None:
        owner = frame.f_locals.get("self")
        lock = getattr(owner, "_lock", None)
        if frame.f_globals["__name__"].startswith("swagent.") and lock is not None and _is_owned(lock):
            yield type(owner).__name__
        frame = frame.f_back


def _is_owned(lock: Any) -> bool:
    # a lock that is not re-entrant does not know its owner, and has no business here
    return bool(lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked())


class Finalised:
    """Garbage that records when it is collected, and leaves its like behind for some collections to come."""

    def __init__(self, recorded: Recorded, to_come: int) -> None:
        self._recorded = recorded
        self._to_come = to_come
        self._cycle = self

    def __del__(self) -> None:
        self._recorded.interrupt(sys._getframe(1))
        if self._to_come:
            Finalised(self._recorded, self._to_come - 1)


@contextmanager
def finalisers(recorded: Recorded) -> Iterator[Callable[[], None]]:
    """Garbage in each piece of work, that is collected a few times over, each time at other allocations."""
    # Collections by their number alone would only meet the places where more objects live than at any before.
    distances = itertools.cycle(range(1, 60))

    def prepare() -> None:
        gc.set_threshold(0)
        Finalised(recorded, _AGAIN)
        gc.set_threshold(next(distances), 1000, 1000)

    thresholds = gc.get_threshold()
    try:
        yield prepare
    finally:
        gc.set_threshold(*thresholds)
        for _ in range(_AGAIN + 1):
            gc.collect()


@contextmanager
def signals(recorded: Recorded) -> Iterator[Callable[[], None]]:
    """A signal at every quarter of a millisecond that this process works."""
    before = signal.signal(signal.SIGVTALRM, lambda number, frame: recorded.interrupt(frame))
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.00025, 0.00025)
    try:
        yield lambda: None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@covers("C06")
@pytest.mark.parametrize("interruptions", [finalisers, pytest.param(signals, marks=pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="needs POSIX signals"))])  # fmt: skip
async def test_code_that_breaks_in_may_record(interruptions: Callable[[Recorded], Any]) -> None:
    """Until each lock that is held where others' code can run was held by the thread that was broken into. From 3.12 on
    garbage is collected where signals are handled, and no longer at each allocation: there it hardly ever meets the
    channel's, which signals do."""
    is_rare = interruptions is finalisers and sys.version_info >= (3, 12)
    locked = _LOCKED - {"Channel"} if is_rare else _LOCKED
    collector = MemoryCollector()
    with anyio.fail_after(_WATCHDOG):
        async with Agent(_CONFIG, transport=collector.transport) as agent:
            recorded = Recorded(agent)
            with interruptions(recorded) as prepare:
                while recorded.nested < _ENOUGH or not recorded.locked >= locked:
                    prepare()
                    recorded.work()
                    assert agent.statistics().balanced
                    await anyio.lowlevel.checkpoint()
            assert await agent.flush(_WATCHDOG)
        statistics = agent.statistics()
    expected = recorded.outer + recorded.nested
    assert statistics.balanced
    assert statistics.segment.confirmed == collector.count(Signal.SEGMENT) == expected - recorded.unheard
    # a record that is logged while another one is turned into text is not reported
    assert recorded.outer <= statistics.log.confirmed == collector.count(Signal.LOG) <= expected - recorded.unheard
    counted = [sample for sample in recorded.counter._registry.counts() if isinstance(sample, SingleSample)]
    assert sum(sample.value for sample in counted) == expected
    assert recorded.unheard < recorded.nested
