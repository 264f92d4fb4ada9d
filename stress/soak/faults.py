"""The action of each kind of fault, on all applications alike."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from kit.proxy import Proxy

from .applications import Application
from .plan import Kind, Step
from .sinks import Sink


@dataclass(frozen=True)
class Window:
    """When a fault was there in truth, in seconds of the monotonic clock."""

    step: Step
    begin: float
    end: float


@dataclass
class World:
    """The targets of the faults.

    :ivar windows: the faults that were
    """

    sinks: Sequence[Sink]
    proxies: Sequence[Proxy]
    applications: Sequence[Application]
    windows: list[Window] = field(default_factory=list[Window])


async def inflict(step: Step, world: World) -> None:
    """Begin a fault, wait, and take it back."""
    begin = time.monotonic()
    async with FAULTS[step.kind](step, world):
        await asyncio.sleep(step.seconds)
    world.windows.append(Window(step, begin, time.monotonic()))


async def _all(actions: Iterable[Callable[[], None]]) -> None:
    """Do what blocks, all at the same time."""
    await asyncio.gather(*(asyncio.to_thread(action) for action in actions))


@asynccontextmanager
async def _nothing(step: Step, world: World) -> AsyncIterator[None]:  # noqa: ARG001
    yield


@asynccontextmanager
async def _sinks_killed(step: Step, world: World) -> AsyncIterator[None]:  # noqa: ARG001
    await _all(sink.kill for sink in world.sinks)
    try:
        yield
    finally:
        await _all(sink.start for sink in world.sinks)


@asynccontextmanager
async def _sinks_frozen(step: Step, world: World) -> AsyncIterator[None]:  # noqa: ARG001
    await _all(sink.freeze for sink in world.sinks)
    try:
        yield
    finally:
        await _all(sink.thaw for sink in world.sinks)


@asynccontextmanager
async def _applications_frozen(step: Step, world: World) -> AsyncIterator[None]:  # noqa: ARG001
    for each in world.applications:
        each.freeze()
    try:
        yield
    finally:
        for each in world.applications:
            each.thaw()


@asynccontextmanager
async def _port_down(step: Step, world: World) -> AsyncIterator[None]:  # noqa: ARG001
    for proxy in world.proxies:
        await proxy.stop()
    try:
        yield
    finally:
        for proxy in world.proxies:
            await proxy.start()


@asynccontextmanager
async def _poisoned(step: Step, world: World) -> AsyncIterator[None]:
    """A fault that a proxy does to the bytes. A connection that lost some by it stays broken after it."""
    strength = step.strength
    for proxy in world.proxies:
        if step.kind is Kind.LATENCY:
            proxy.set(latency=strength)
        elif step.kind is Kind.JITTER:
            proxy.set(jitter=strength)
        elif step.kind is Kind.BANDWIDTH:
            proxy.set(rate=strength)
        elif step.kind is Kind.SLICES:
            proxy.set(slice=int(strength))
        elif step.kind is Kind.HOLE:
            proxy.set(hole=True)
        else:
            # those that are open, and those that come while it lasts
            proxy.set("reset" if step.kind is Kind.RESET else "half", limit=int(strength))
            proxy.cut(up=int(strength), down=int(strength))
    try:
        yield
    finally:
        for proxy in world.proxies:
            proxy.heal()


FAULTS: Mapping[Kind, Callable[[Step, World], AbstractAsyncContextManager[None]]] = {
    **dict.fromkeys(Kind, _poisoned),
    Kind.NOTHING: _nothing,
    Kind.SINK_KILLED: _sinks_killed,
    Kind.SINK_FROZEN: _sinks_frozen,
    Kind.APP_FROZEN: _applications_frozen,
    Kind.PORT_DOWN: _port_down,
}
