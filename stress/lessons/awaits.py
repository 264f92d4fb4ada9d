"""Waits in sequence, each in a loop of its own, and side by side: the seconds, and what the agent says of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import trio

from .asking import ITEMS, WAYS
from .beside import run_with_agent, sentences
from .lesson import Lesson, middle_of_rounds, ratio
from .waiting_peers import waiting_peers

PUBLISHED: Mapping[str, float] = {"in sequence": 5.01, "a run per item": 5.03, "gathered": 1.00}
"""Seconds of five waits of one second."""
_HEADS = ("five waits", "published, s", "published, ratio", "asyncio, s", "ratio", "trio, s", "ratio", "the agent")
_ASKED_WAIT = 0.06


def _asyncio(way: str, wait: float) -> None:
    async def one_after_another() -> None:
        for _ in range(ITEMS):
            await asyncio.sleep(wait)

    async def gathered() -> None:
        await asyncio.gather(*(asyncio.sleep(wait) for _ in range(ITEMS)))

    if way == "a run per item":
        for _ in range(ITEMS):
            asyncio.run(asyncio.sleep(wait))
    else:
        asyncio.run(gathered() if way == "gathered" else one_after_another())


def _trio(way: str, wait: float) -> None:
    async def one_after_another() -> None:
        for _ in range(ITEMS):
            await trio.sleep(wait)

    async def gathered() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(ITEMS):
                nursery.start_soon(trio.sleep, wait)

    if way == "a run per item":
        for _ in range(ITEMS):
            trio.run(trio.sleep, wait)
    else:
        trio.run(gathered if way == "gathered" else one_after_another)


_LOOPS: Mapping[str, Callable[[str, float], None]] = {"asyncio": _asyncio, "trio": _trio}


def measure(short: bool) -> Lesson:
    """Measure both loops in turns, and ask the agent about the same with httpx and five peers that wait."""
    wait, rounds, requests = (0.05, 1, 8) if short else (0.2, 5, 12)

    def seconds(key: tuple[str, str]) -> float:
        loop, way = key
        began = time.perf_counter()
        _LOOPS[loop](way, wait)
        return time.perf_counter() - began

    found = middle_of_rounds([(loop, way) for way in WAYS for loop in _LOOPS], rounds, seconds)
    said = {way: _ask_agent(way, requests) for way in WAYS}
    rows = [_row(way, found, said[way]) for way in WAYS]
    notes = [f"{way}: {each}" for way in WAYS for each in said[way]]
    notes.append(f"here a wait is {wait:g} s; the agent is asked about {requests} requests to five peers that "
                 f"wait {_ASKED_WAIT * 1000:g} ms")  # fmt: skip
    return Lesson("Waits in sequence, a loop for each, and gathered", _HEADS, rows, notes, faults(found))


def _ask_agent(way: str, requests: int) -> list[str]:
    with waiting_peers(ITEMS, _ASKED_WAIT) as addresses:
        ran = run_with_agent("lesson", "stress.lessons.asking", way, str(requests), *addresses)
    return sentences(ran.findings)


def _row(way: str, found: Mapping[tuple[str, str], float], said: list[str]) -> list[str]:
    kinds = sorted({each.partition(":")[0] for each in said})
    row = [way, f"{PUBLISHED[way]:.2f}", ratio(PUBLISHED[way], PUBLISHED["gathered"])]
    for loop in _LOOPS:
        row += [f"{found[loop, way]:.3f}", ratio(found[loop, way], found[loop, "gathered"])]
    return [*row, ", ".join(kinds) or "nothing"]


def faults(found: Mapping[tuple[str, str], float]) -> list[str]:
    """Why the table is void: one after the other takes at least twice as long as side by side, however busy it is."""
    return [
        f"{loop}, {way}: not longer than gathered"
        for loop, way in found
        if way != "gathered" and found[loop, way] < 2 * found[loop, "gathered"]
    ]
