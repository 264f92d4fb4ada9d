"""A pool of connections to PostgreSQL under an open load: what it lets through, how late, and what the agent says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kit.real.databases import Postgres

from .beside import Ran, run_bare, run_with_agent, sentences
from .lesson import Lesson, ratio

SIZES = (5, 20, 100)
WAIT = 0.01
"""Seconds that each query waits in the server."""
_HEADS = ("connections", "agent", "asked a second", "answered a second", "of the pool of 20", "p50, ms", "p99, ms",
          "findings")  # fmt: skip
_MODULE = "stress.lessons.querying"


class RoomyPostgres(Postgres):
    """With room for a hundred connections and those of its own."""

    def arguments(self) -> list[str]:
        return [*super().arguments(), "-c", "max_connections=120"]


def measure(short: bool) -> Lesson:
    """Run each size bare and with the agent."""
    rate, seconds = (600, 2) if short else (600, 8)
    found: dict[tuple[int, bool], Ran] = {}
    with RoomyPostgres() as server:
        for size in SIZES:
            arguments = (server.url, str(size), str(rate), str(seconds), str(WAIT))
            found[size, False] = run_bare(_MODULE, *arguments)
            found[size, True] = run_with_agent("lesson", _MODULE, *arguments)
    rows = [_row(key, found) for key in found]
    notes = [f"{size} connections: {each}" for size in SIZES for each in sentences(found[size, True].findings)]
    return Lesson(
        "A pool under an open load, against a database that waits 10 ms", _HEADS, rows, notes,
        faults({key: ran.said for key, ran in found.items()}),
    )  # fmt: skip


def _row(key: tuple[int, bool], found: Mapping[tuple[int, bool], Ran]) -> Sequence[str]:
    (size, has_agent), said = key, found[key].said
    base = found[20, has_agent].said["answered"]
    kinds = sorted({each.kind for each in found[key].findings})
    return (
        str(size), "with" if has_agent else "without", f"{said['asked']:,.0f}", f"{said['answered']:,.0f}",
        ratio(said["answered"], base), f"{said['p50'] * 1000:,.1f}", f"{said['p99'] * 1000:,.1f}",
        (", ".join(kinds) or "nothing") if has_agent else "",
    )  # fmt: skip


def faults(found: Mapping[tuple[int, bool], Mapping[str, Any]]) -> list[str]:
    """Why the table is void: a pool cannot let through more than its connections answer, and no query may fail."""
    most = {size: size / WAIT for size, _ in found}
    return [
        f"{size} connections: {said['failed']} failed, {said['answered']:.0f} a second"
        for (size, _), said in found.items()
        if said["failed"] or said["answered"] > most[size]
    ]
