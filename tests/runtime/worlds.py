"""A small world around an agent: collectors in memory that misbehave as ordered, and an application that records."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import anyio
import sniffio
import trio

from kit.client import until
from kit.loops import LOOPS
from swagent import Agent, Config, local_span
from swagent.abc import Transport
from swagent.config.options import Address
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal
from swagent.testing import Behaviour, MemoryCollector, MemoryTransport

ASYNCIO: list[Any] = [LOOPS["asyncio"], LOOPS["uvloop"]]
ASYNCIO_IDS = ["asyncio", "uvloop"]
# these tests count batches and calls, so only what they record themselves may be under way
SEGMENTS_ONLY = {
    "log_reporter_active": False, "meter_reporter_active": False, "event_reporter_active": False,
    "profile_active": False,
}  # fmt: skip


# a thread looks from outside whether a loop is held, which a virtual clock has no place for
NO_WATCH: dict[str, Any] = {"loop_block_limit": 0}


def config(**changes: Any) -> Config:
    return Config(**{"service": "shop", "instance": "one", "collector": "memory:1", **SEGMENTS_ONLY, **changes})


def agent_of(
    collector: MemoryCollector | type[Transport], /, *, clock: Callable[[], float] | None = None, **changes: Any
) -> Agent:
    transport = collector.transport if isinstance(collector, MemoryCollector) else collector
    return Agent(config(**changes), transport=transport, **({} if clock is None else {"clock": clock}))


def record(count: int = 1) -> None:
    """The work of an application."""
    for number in range(count):
        with local_span(f"work {number}"):
            pass


async def hung(**changes: Any) -> Agent:
    """A running agent that has recorded two segments, over which its collector hangs or will hang."""
    collector = MemoryCollector()
    agent = await agent_of(collector, **{"request_timeout": 300.0, **NO_WATCH, **changes}).start()
    await collector.wait_until(lambda it: bool(it.properties))
    collector.behaviour = hanging
    record(2)
    return agent


async def under_way(agent: Agent, count: int) -> None:
    """Wait until so many segments are on their way to a collector: a flush that was given up may not have sent them."""
    await until(lambda: agent.statistics().segment.in_flight == count)


def fails_with(error: DeliveryError) -> Behaviour:
    async def fail() -> None:
        raise error

    return fail


unreachable = fails_with(RetryableError("nothing listens"))
ambiguous = fails_with(AmbiguousError("no verdict"))
rejecting = fails_with(RejectedError("refused"))


async def hanging() -> None:
    await anyio.sleep_forever()


class Collectors:
    """Several collectors behind one transport class, found by their addresses `memory:1`, `memory:2`, …"""

    def __init__(self, count: int) -> None:
        self.members = [MemoryCollector() for _ in range(count)]
        self.transport: type[Transport] = type("RoutedTransport", (RoutedTransport,), {"collectors": self})

    @property
    def addresses(self) -> str:
        return ",".join(f"memory:{number}" for number in range(1, len(self.members) + 1))

    def __getitem__(self, index: int) -> MemoryCollector:
        return self.members[index]

    def counts(self) -> list[int]:
        return [each.count(Signal.SEGMENT) for each in self.members]


class RoutedTransport(MemoryTransport):
    collectors: ClassVar[Collectors]

    def __init__(self, config: Config, address: Address) -> None:
        super().__init__(config, address)
        self.collector = self.collectors[address.port - 1]  # type: ignore[misc]


class FaultyTransport(MemoryTransport):
    """A transport with a part that is broken: subclasses say which."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.collector = MemoryCollector()


class Host:
    """An application's body, for tests in which something else ends it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.running = anyio.Event()
        self.left = anyio.Event()
        self.error: BaseException | None = None

    async def live(self) -> None:
        try:
            async with self.agent:
                self.running.set()
                await anyio.sleep_forever()
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.left.set()


@contextmanager
def no_task_is_left() -> Iterator[None]:
    """The threads and tasks beside the test are the same before and after."""
    before = _tasks()
    yield
    gc.collect()
    assert _tasks() - before == set()


def _tasks() -> set[object]:
    if sniffio.current_async_library() == "asyncio":
        return {task for task in asyncio.all_tasks() if not task.done()}
    root = trio.lowlevel.current_root_task()
    return set(_descendants(root)) if root is not None else set()


def _descendants(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield child
            yield from _descendants(child)


def outcome(agent: Agent) -> dict[str, int]:
    """The counts of an agent's ledger that are not zero, after it was found to balance."""
    statistics = agent.statistics().segment
    assert agent.statistics().balanced, str(statistics)
    counts = {"confirmed": statistics.confirmed, "queued": statistics.queued, "in flight": statistics.in_flight}
    counts.update({f"refused {reason}": count for reason, count in statistics.refused.items()})
    counts.update({f"dropped {reason}": count for reason, count in statistics.dropped.items()})
    return {name: count for name, count in counts.items() if count}


def failing_once(*errors: BaseException, then: Behaviour | None = None) -> Behaviour:
    """Each call meets the next error; after the last, all is well."""
    left: list[BaseException] = list(errors)

    async def behave() -> None:
        if left:
            raise left.pop(0)
        if then is not None:
            await then()

    return behave


def raising(error: BaseException) -> Callable[..., Awaitable[NoReturn]]:
    async def raise_it(*_: object) -> NoReturn:
        await anyio.lowlevel.checkpoint()
        raise error

    return raise_it


def sent_by(collectors: Sequence[MemoryCollector]) -> list[bytes]:
    return [payload for each in collectors for payload in each.records[Signal.SEGMENT]]
