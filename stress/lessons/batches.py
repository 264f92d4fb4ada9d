"""Batches drained after a backlog: the throughput stays, and the latency falls until the backlog is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from grpclib.client import Channel, UnaryUnaryMethod

from swagent.collector.intake.codec import RawCodec

from .curves import draw
from .lesson import Lesson, ratio
from .waiting_peers import waiting_peer

SIZES = (128, 512, 1024, 3000)
WAIT = 0.01
"""Seconds that the peer waits before it answers a batch."""
LOAD = 0.5
"""What arrives meanwhile, as a share of what can be sent."""
_HEADS = ("batch", "records a second, 1st to 4th quarter", "latency, ms, 1st to 4th quarter", "throughput, 4th to 1st",
          "latency, 4th to 1st", "to batches of 128")  # fmt: skip
_POINTS = 20
"""How many a curve has: each stands for an equal part of the batches."""
_PATH = "/swagent.lessons/Take"
_RECORD = b"x" * 100


class Batch(NamedTuple):
    """One that was answered.

    :ivar at: seconds since the drain began
    :ivar latency: seconds from the making of its middle record to the answer
    """

    records: int
    at: float
    latency: float


class Arrivals:
    """When each record was made. They come at one rate: the backlog before the beginning, while nothing was sent."""

    def __init__(self, backlog: int, rate: float) -> None:
        self._backlog = backlog
        self._rate = rate
        self.taken = 0

    def take(self, now: float, most: int) -> tuple[int, float]:
        """Take the oldest; returns how many, and when the middle one was made.

        :param now: seconds since the beginning; what was made before has negative times
        """
        count = min(most, self._backlog + int(now * self._rate) - self.taken)
        middle = self.taken + count // 2
        self.taken += count
        return count, (middle - self._backlog) / self._rate


def in_parts(batches: Sequence[Batch], parts: int) -> list[tuple[float, float]]:
    """Records a second and the median latency in each of so many parts of the batches."""
    size, found = len(batches) // parts, []
    for number in range(parts):
        part = batches[number * size : (number + 1) * size]
        before = batches[number * size - 1].at if number else 0.0
        took = part[-1].at - before
        found.append((sum(each.records for each in part) / took, median(each.latency for each in part)))
    return found


async def drain(address: str, size: int, batches: int) -> list[Batch]:
    """Send so many full batches of a backlog, one after the other, by one connection, while others arrive."""
    host, _, port = address.rpartition(":")
    async with Channel(host, int(port), codec=RawCodec()) as channel:
        method = UnaryUnaryMethod[bytes, bytes](channel, _PATH, bytes, bytes)
        rate = await _rate(method, size)
        arrivals = Arrivals(int(size * batches * (1 - LOAD)), rate * LOAD)
        found: list[Batch] = []
        began = time.perf_counter()
        while len(found) < batches:
            count, made = arrivals.take(time.perf_counter() - began, size)
            if count < size:  # the backlog is gone
                break
            await method(_RECORD * count)
            at = time.perf_counter() - began
            found.append(Batch(count, at, at - made))
    return found


async def _rate(method: UnaryUnaryMethod[bytes, bytes], size: int) -> float:
    """Records a second that can be sent, as it is now."""
    began, tries = time.perf_counter(), 20
    for _ in range(tries):
        await method(_RECORD * size)
    return tries * size / (time.perf_counter() - began)


def measure(short: bool) -> Lesson:
    """Drain a backlog in batches of each size."""
    count = 40 if short else 200
    drained: dict[int, list[Batch]] = {}
    with waiting_peer("grpc", WAIT) as (address, _):
        for size in SIZES:
            drained[size] = asyncio.run(drain(address, size, count))
    found = {size: in_parts(batches, 4) for size, batches in drained.items()}
    rows = [_row(size, found) for size in SIZES]
    note = (
        f"records of {len(_RECORD)} bytes by one gRPC connection, one batch at a time, to a peer that waits "
        f"{WAIT * 1000:g} ms; meanwhile {LOAD:.0%} of what can be sent arrives"
    )
    return Lesson("Saturated by a backlog, then drained", _HEADS, rows, [note], faults(found), picture(drained))


def picture(drained: Mapping[int, Sequence[Batch]]) -> Mapping[str, str]:
    """The smallest and the largest batches as curves."""
    lines: dict[str, Sequence[float]] = {}
    for size in (SIZES[0], SIZES[-1]):
        rates, latencies = zip(*in_parts(drained[size], min(_POINTS, len(drained[size]))), strict=True)
        lines[f"throughput, {size:,}"], lines[f"latency, {size:,}"] = rates, latencies
    return {"backlog.svg": draw("A backlog is drained in batches of 128 and of 3,000", "from the first batch to the "
                                "last; each line in shares of its highest value", lines)}  # fmt: skip


def _row(size: int, found: Mapping[int, Sequence[tuple[float, float]]]) -> Sequence[str]:
    (first, late), (last, early) = found[size][0], found[size][-1]
    return (
        f"{size:,}", " / ".join(f"{each:,.0f}" for each, _ in found[size]),
        " / ".join(f"{each * 1000:,.0f}" for _, each in found[size]),
        ratio(last, first), ratio(early, late), ratio(found[size][1][0], found[SIZES[0]][1][0]),
    )  # fmt: skip


def faults(found: Mapping[int, Sequence[tuple[float, float]]]) -> list[str]:
    """Why the table is void: the latency of a backlog that is drained falls."""
    return [
        f"batches of {size:,}: the latency does not fall"
        for size, parts in found.items()
        if parts[-1][1] >= parts[0][1]
    ]
