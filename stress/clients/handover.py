"""Ways to hand records from where they are made to the task that ships them: in the same thread, and from another.

All of them are bounded by the same room: a producer waits until what it handed over has been taken out. None drops.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from stress.pipeline.room import Room
from swagent.backend import loop_notifier
from swagent.pipeline.batcher import Batcher
from swagent.pipeline.channel import Channel
from swagent.signals import KIB, MIB, Bounds, Overflow, Signal

from .bench import Bench
from .records import BATCH, BINARY

_ROOM, _TURN = 8192, 64
_BOUNDS = Bounds(2 * _ROOM, 64 * MIB, 256 * KIB, 60.0, BATCH, 16 * MIB, 0.0, Overflow.REFUSE_NEWEST)


class Way(ABC):
    """One way. Everything runs in the loop's thread, but `put_from_thread`."""

    @abstractmethod
    def put(self) -> None:
        """Hand one record over."""

    @abstractmethod
    def put_from_thread(self) -> None:
        """Hand one record over, from another thread."""

    @abstractmethod
    async def take(self) -> int:
        """Wait for records, and take out a batch at most; how many those were."""

    def close(self) -> None:  # noqa: B027  (most have nothing to let go of)
        """Let go."""


class AsyncioQueue(Way):
    """asyncio.Queue; from another thread each record is a callback of the loop's."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def put(self) -> None:
        self._queue.put_nowait(BINARY)

    def put_from_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._queue.put_nowait, BINARY)

    async def take(self) -> int:
        await self._queue.get()
        taken = 1
        while taken < BATCH and not self._queue.empty():
            self._queue.get_nowait()
            taken += 1
        return taken


class JanusQueue(Way):
    """janus.Queue, made for two threads."""

    def __init__(self) -> None:
        import janus  # type: ignore[import-not-found, unused-ignore]

        self._queue: Any = janus.Queue()

    def put(self) -> None:
        self._queue.async_q.put_nowait(BINARY)

    def put_from_thread(self) -> None:
        self._queue.sync_q.put(BINARY)

    async def take(self) -> int:
        await self._queue.async_q.get()
        taken = 1
        while taken < BATCH and not self._queue.async_q.empty():
            self._queue.async_q.get_nowait()
            taken += 1
        return taken

    def close(self) -> None:
        self._queue.close()


class MemoryStream(Way):
    """anyio's memory object stream; from another thread each record is a callback of the loop's."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[bytes](2 * _ROOM)
        self._loop = asyncio.get_running_loop()

    def put(self) -> None:
        self._send.send_nowait(BINARY)

    def put_from_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._send.send_nowait, BINARY)

    async def take(self) -> int:
        await self._receive.receive()
        taken = 1
        while taken < BATCH:
            try:
                self._receive.receive_nowait()
            except anyio.WouldBlock:
                break
            taken += 1
        return taken

    def close(self) -> None:
        self._send.close()
        self._receive.close()


class OurChannel(Way):
    """swagent's channel, which besides counts and times each record."""

    def __init__(self) -> None:
        self._channel = Channel(Signal.SEGMENT, _BOUNDS)
        self._channel.attach(loop_notifier())
        self._batcher = Batcher(BATCH, _BOUNDS.batch_bytes, 0.0)

    def put(self) -> None:
        assert self._channel.offer(BINARY)

    def put_from_thread(self) -> None:
        assert self._channel.offer(BINARY)

    async def take(self) -> int:
        # the reporter sends what it took before, which lets others have their turn; nothing is awaited after the lease:
        # a take that is cancelled there would not be counted
        await asyncio.sleep(0)
        await self._channel.wait_due(self._batcher)
        lease = self._channel.lease(BATCH, _BOUNDS.batch_bytes)
        lease.confirm()
        return len(lease.records)

    def close(self) -> None:
        self._channel.attach(None)


async def _same_thread(way: Way, seconds: float) -> int:
    room, sent, taken, until = Room(_ROOM), 0, 0, time.monotonic() + seconds

    async def drain() -> None:
        nonlocal taken
        while True:
            count = await way.take()
            taken += count
            room.give(count)

    draining = asyncio.ensure_future(drain())
    # one turn at least: a busy machine may take all the time for the start
    while not sent or time.monotonic() < until:
        await room.take(_TURN)
        for _ in range(_TURN):
            way.put()
        sent += _TURN
    # room for all of it is there when all of it was taken
    await room.take(_ROOM)
    draining.cancel()
    assert taken == sent
    return taken


async def _other_thread(way: Way, seconds: float) -> int:
    room, sent, taken, until = threading.Semaphore(_ROOM // _TURN), 0, 0, time.monotonic() + seconds

    def produce() -> None:
        nonlocal sent
        # as above
        while not sent or time.monotonic() < until:
            room.acquire()
            for _ in range(_TURN):
                way.put_from_thread()
            sent += _TURN

    producing = asyncio.get_running_loop().run_in_executor(None, produce)
    owed = 0
    while taken < sent or not producing.done():
        try:
            count = await asyncio.wait_for(way.take(), 0.1)
        except asyncio.TimeoutError:
            continue
        taken, owed = taken + count, owed + count
        room.release(owed // _TURN) if owed >= _TURN else None
        owed %= _TURN
    await producing
    assert taken == sent
    return taken


def _bench(kind: Callable[[], Way], from_thread: bool) -> Bench:
    async def bench(_: str, seconds: float) -> int:
        way = kind()
        try:
            return await (_other_thread if from_thread else _same_thread)(way, seconds)
        finally:
            way.close()

    return bench


_WAYS: Mapping[str, Callable[[], Way]] = {
    "asyncio.Queue": AsyncioQueue,
    "janus.Queue": JanusQueue,
    "anyio memory object stream": MemoryStream,
    "swagent's channel": OurChannel,
}
BENCHES: Mapping[str, Bench] = {
    f"{name}, {where}": _bench(kind, where != "same thread")
    for where in ("same thread", "from another thread")
    for name, kind in _WAYS.items()
}
