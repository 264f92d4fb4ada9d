"""Where lives are lived: with a collector in memory, and with servers behind the real transports."""

from __future__ import annotations

import gc
import socket
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import psutil

from faults.data.taking import Taker, taker_of
from kit.client import until
from runtime.worlds import SEGMENTS_ONLY, config, unreachable
from swagent import Agent
from swagent.config import Config
from swagent.signals import Signal
from swagent.testing import MemoryCollector

# Much shorter than what users may set, so that a life of milliseconds has heartbeats and reports of meters.
_PERIOD = 0.005


def lively(**settings: Any) -> Config:
    # what psutil has to say of the process takes longer than the rest of a life
    everything = {**dict.fromkeys(SEGMENTS_ONLY), "profile_active": True}
    chosen = config(**everything, pvm_meter_reporter_active=False, **settings)
    object.__setattr__(chosen, "heartbeat_period", _PERIOD)
    object.__setattr__(chosen, "meter_reporter_period", _PERIOD)
    return chosen


class MemoryWorld:
    """Everything that a collector can be, without a network."""

    def __init__(self) -> None:
        self.collector = MemoryCollector()

    async def prepare(self) -> None:
        # of all lives only the last has something to report
        self.collector = MemoryCollector()

    def agent(self) -> Agent:
        return Agent(lively(), transport=self.collector.transport)

    async def wait_noted(self) -> None:
        await self.collector.wait_until(lambda it: it.heartbeats > 0 and it.count(Signal.METER) > 0)

    @asynccontextmanager
    async def lost(self) -> AsyncGenerator[None]:
        self.collector.behaviour = unreachable
        try:
            yield
        finally:
            self.collector.behaviour = None

    async def check_let_go(self) -> None:
        """There is nothing to let go of."""

    def arrived(self) -> Iterable[bytes]:
        return self.collector.records[Signal.SEGMENT]


class ServerWorld:
    """A server in a thread, behind a real transport."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker
        self._server = taker.server
        self._thread = taker.server.thread
        self._is_up = True
        self._known: set[int] = set()

    async def prepare(self) -> None:
        if not self._is_up:
            self._start()
        self._known = self._connections()

    def agent(self) -> Agent:
        return Agent(lively(request_timeout=0.5, **self._taker.settings))

    async def wait_noted(self) -> None:
        """A heartbeat or two, and as many reports of meters."""
        await anyio.sleep(2 * _PERIOD)

    @asynccontextmanager
    async def lost(self) -> AsyncGenerator[None]:
        self._is_up = False
        await self._thread.call(self._server.stop)
        try:
            yield
        finally:
            self._start()

    def arrived(self) -> Iterable[bytes]:
        return self._taker.payloads(Signal.SEGMENT)

    async def check_let_go(self) -> None:
        """No connection of ours is left; the kernel may take a moment."""
        with suppress(TimeoutError):
            await until(lambda: not self._connections() - self._known, 1.0)
        gc.collect()  # asyncio may cancel a client's library amid its closing
        left = self._connections() - self._known
        assert not left, f"connections are left open, from the ports {left}"

    def _connections(self) -> set[int]:
        port = int(self._server.address.rpartition(":")[2])
        found = psutil.Process().net_connections("tcp")
        return {each.laddr.port for each in found if each.raddr and each.raddr.port == port}

    def _start(self) -> None:
        """Blocks, since a start that is cancelled leaves a port behind that listens."""
        self._thread.run(self._server.stop)  # once more: the first time it may have been cut short
        self._thread.run(self._server.start)
        self._is_up = True


@contextmanager
def world_of(transport: str) -> Iterator[ServerWorld]:
    """A world behind one of the real transports, for as long as the block lasts."""
    with _port() as port, taker_of(transport, port) as taker:
        yield ServerWorld(taker)


@contextmanager
def _port() -> Iterator[int]:
    """A port that stays ours while the server is down. Otherwise a client that dials it, again and again, may be given
    that very port to dial from, and reach itself."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]
