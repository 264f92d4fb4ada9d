"""How late a busy machine lets a process go on: a wait of 8 ms that took 60 since others had the processors is found
rightly, and says nothing of the application.

A task of the loop sleeps for 5 ms, again and again. It is late by as much as it slept longer, without the processor
time that its process used meanwhile and without the time for which an application held the loop on purpose.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from swagent.collector.findings.culprit import SLOW_MS
from swagent.collector.findings.finding import Finding
from swagent.collector.store.trace_records import Segment

LATE = "FINDINGS_LATE"
"""The variable with the folder in which a service leaves its late moments."""
PERIOD = 0.005
"""Seconds of one sleep."""
_LEAST_MS = 1.0
_OF_CALLS = frozenset(("slow_dependency", "slow_way"))
"""The kinds of findings that are about a call."""


class Late(NamedTuple):
    """A process went on so much too late, in milliseconds, by a moment in milliseconds since 1970."""

    at: float
    ms: float


class Traces(NamedTuple):
    """The traces of a finding, on average, in milliseconds.

    :ivar late: for how long processes were late while one of them lasted
    :ivar took: how long the request took that the finding is about; 0: it is about none
    """

    late: float = 0.0
    took: float = 0.0


class Holds:
    """For how long this process has held its loop on purpose, in seconds."""

    seconds = 0.0


def held(ms: float) -> None:
    """Note that the application has held the loop for so long, without the processor."""
    Holds.seconds += ms / 1000


async def watch(found: list[Late]) -> None:
    """Note late moments until it is cancelled."""
    while True:
        wall, own = time.monotonic(), _own_seconds()
        await asyncio.sleep(PERIOD)
        ms = late_ms(time.monotonic() - wall, _own_seconds() - own)
        if ms >= _LEAST_MS:
            found.append(Late(time.time() * 1000, ms))


def late_ms(slept: float, own: float) -> float:
    """By how many milliseconds a sleep was too long.

    :param slept: how long it took, in seconds
    :param own: seconds of these that the process used itself
    """
    return (slept - PERIOD - own) * 1000


@asynccontextmanager
async def watching() -> AsyncIterator[list[Late]]:
    """Watch this loop for as long as the block lasts; what is noted so far."""
    found: list[Late] = []
    task = asyncio.create_task(watch(found))
    try:
        yield found
    finally:
        task.cancel()


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """A service's: at its end it leaves its late moments in the folder."""
    async with watching() as found:
        yield
    _leave(found)


def _leave(found: list[Late]) -> None:
    Path(os.environ[LATE], f"{os.getpid()}.json").write_text(json.dumps(found))


def left_in(folder: str) -> list[Late]:
    """The late moments that services have left."""
    return [Late(*each) for path in Path(folder).iterdir() for each in json.loads(path.read_text())]


def late_within(late: Iterable[Late], traces: Iterable[Sequence[Segment]]) -> float:
    """For how many milliseconds processes were late while these traces lasted, on average."""
    spans = [[span for segment in trace for span in segment.spans] for trace in traces]
    times = [(min(each.start_time for each in trace), max(each.end_time for each in trace)) for trace in spans if trace]
    parts = (min(at, end) - max(at - ms, start) for at, ms in late for start, end in times)
    return sum(max(each, 0.0) for each in parts) / max(len(times), 1)


def took_within(finding: Finding, traces: Iterable[Sequence[Segment]]) -> float:
    """How many milliseconds the requests took that a finding is about, on average; 0: there are none."""
    segments = [each for trace in traces for each in trace if each.service == finding.service]
    spans = [each for segment in segments for each in segment.spans if each.operation == finding.operation]
    times = [each.end_time - each.start_time for each in spans if each.kind == "Entry"]
    return sum(times) / max(len(times), 1)


def is_the_machines(finding: Finding, traces: Traces) -> bool:
    """Whether nothing is amiss but that the machine was busy: without it, this would not have been slow.

    The usual time is that of a call where a call is amiss, and else that of the whole request, of which the finding
    explains a part only.
    """
    usual = finding.baseline.p50 if finding.baseline is not None else 0
    part = finding.ms / finding.count
    took = part if finding.kind in _OF_CALLS else traces.took or part
    return traces.late > 0 and 0 < took - usual < traces.late + SLOW_MS


def _own_seconds() -> float:
    return time.process_time() + Holds.seconds
