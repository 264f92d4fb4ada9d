"""A peer that waits 0 and 10 ms: one connection, a pool of connections, and one that carries many calls at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import httpcore
from grpclib.client import Channel, UnaryUnaryMethod

from swagent.collector.intake.codec import RawCodec

from .lesson import Lesson, middle_of_rounds, ratio
from .waiting_peers import waiting_peer

PUBLISHED: Mapping[tuple[str, int], tuple[int, int]] = {
    ("one connection, HTTP", 1): (12_182, 95),
    ("a pool, HTTP", 1): (1_654, 92),
    ("one connection, gRPC", 64): (3_898, 4_265),
}
"""Requests a second against a peer that waits 0 and 10 ms, by the way and how many are in flight. How many were in
flight in the last is not published; the figures are put beside 64."""
WAITS = (0.0, 0.01)
WAYS = (
    ("one connection, HTTP", 1), ("a pool, HTTP", 1), ("a pool, HTTP", 64),
    *(("one connection, gRPC", number) for number in (1, 4, 16, 64, 256)),
)  # fmt: skip
_HEADS = ("way", "in flight", "published, 0 ms", "published, 10 ms", "0 ms, a second", "10 ms, a second",
          "10 ms to 0 ms", "10 ms, to one connection of HTTP")  # fmt: skip
_PATH = "/swagent.lessons/Take"
_BODY = b"x" * 128
Call = Callable[[], Awaitable[None]]


class Cell(NamedTuple):
    """One measurement."""

    way: str
    in_flight: int
    wait: float


async def keep_calling(call: Call, in_flight: int, seconds: float) -> float:
    """Call so many at a time; returns how many are done in a second, until the last has been answered."""
    done = 0
    # the connections are opened by those that do not count
    await asyncio.gather(*(call() for _ in range(in_flight)))
    began = time.perf_counter()

    async def one_after_another() -> None:
        nonlocal done
        while time.perf_counter() - began < seconds:
            await call()
            done += 1

    await asyncio.gather(*(one_after_another() for _ in range(in_flight)))
    return done / (time.perf_counter() - began)


async def _by_one_connection(address: str, in_flight: int, seconds: float) -> float:
    """HTTP/1.1 by hand: the connection itself, without a client library."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    request = b"POST /item HTTP/1.1\r\nhost: %b\r\ncontent-length: %d\r\n\r\n%b" % (address.encode(), len(_BODY), _BODY)

    async def call() -> None:
        writer.write(request)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await reader.readexactly(2)

    try:
        return await keep_calling(call, in_flight, seconds)
    finally:
        writer.close()
        await writer.wait_closed()


async def _by_pool(address: str, in_flight: int, seconds: float) -> float:
    async with httpcore.AsyncConnectionPool(max_connections=in_flight) as pool:

        async def call() -> None:
            answer = await pool.request("POST", f"http://{address}/item", content=_BODY)
            assert answer.status == 200

        return await keep_calling(call, in_flight, seconds)


async def _multiplexed(address: str, in_flight: int, seconds: float) -> float:
    host, _, port = address.rpartition(":")
    async with Channel(host, int(port), codec=RawCodec()) as channel:
        method = UnaryUnaryMethod[bytes, bytes](channel, _PATH, bytes, bytes)

        async def call() -> None:
            await method(_BODY)

        return await keep_calling(call, in_flight, seconds)


_MEASURES: Mapping[str, tuple[str, Callable[[str, int, float], Awaitable[float]]]] = {
    "one connection, HTTP": ("http", _by_one_connection),
    "a pool, HTTP": ("http", _by_pool),
    "one connection, gRPC": ("grpc", _multiplexed),
}


def measure(short: bool) -> Lesson:
    """Measure all in turns."""
    seconds, rounds = (0.5, 1) if short else (1.0, 3)
    cells = [Cell(*way, wait) for way in WAYS for wait in WAITS]
    found = middle_of_rounds(cells, rounds, partial(_rate, seconds))
    rows = [_row(way, found) for way in WAYS]
    note = "the first way is HTTP/1.1 written by hand over a stream; the pool is httpcore's, gRPC is grpclib's"
    return Lesson("A peer that waits 0 and 10 ms", _HEADS, rows, [note], faults(found))


def _rate(seconds: float, cell: Cell) -> float:
    kind, call = _MEASURES[cell.way]
    with waiting_peer(kind, cell.wait) as (address, _):

        async def run() -> float:
            return await call(address, cell.in_flight, seconds)

        return asyncio.run(run())


def _row(way: tuple[str, int], found: Mapping[Cell, float]) -> Sequence[str]:
    quick, slow = (found[Cell(*way, wait)] for wait in WAITS)
    published = (f"{each:,}" for each in PUBLISHED[way]) if way in PUBLISHED else ("", "")
    base = found[Cell(*WAYS[0], WAITS[1])]
    return (way[0], str(way[1]), *published, f"{quick:,.0f}", f"{slow:,.0f}", ratio(slow, quick), ratio(slow, base))


def faults(found: Mapping[Cell, float]) -> list[str]:
    """Why the table is void: no way answers more than what is in flight allows by the peer's wait."""
    return [
        f"{cell.way}, {cell.in_flight} in flight: {rate:.0f} a second"
        for cell, rate in found.items()
        if cell.wait and rate > cell.in_flight / cell.wait
    ]
