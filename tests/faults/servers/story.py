"""The story of the outages, in the words of the agents and of the servers."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from e2e.graphql import OapQuery, eventually
from faults.driving import Answer
from faults.matrix import Cell

MOST = 50_000  # segments of one service: more than there are


@dataclass
class Story:
    """The answers, moments and ids of the outages, by step."""

    steps: dict[str, dict[Cell, Answer]] = field(default_factory=dict[str, dict[Cell, Answer]])
    times: dict[str, float] = field(default_factory=dict[str, float])
    held: dict[str, dict[Cell, Counter[str]]] = field(default_factory=dict[str, dict[Cell, Counter[str]]])
    """The ids that the servers had, by step: a cell's own of OAP, everybody's of the broker."""

    def mark(self, moment: str) -> None:
        """Note the time."""
        self.times[moment] = time.monotonic()

    def ids(self, step: str, cell: Cell, *verdicts: str, since: str = "") -> set[str]:
        """The ids of the segments on which a cell's agent knew these verdicts in that step.

        :param since: a moment before which the call must not have begun, if it has come already
        """
        after = self.times.get(since, 0.0)
        notes = [note for note in self.steps[step][cell]["notes"] if note["began"] >= after]
        return {each for note in notes if note["verdict"] in verdicts for each in note["ids"]}

    def waited(self, step: str, cell: Cell, since: str) -> float:
        """How long a cell's agent let a moment be past before its next call, among those it knew in that step."""
        after = self.times[since]
        calls: list[float] = [note["began"] for note in self.steps[step][cell]["notes"]]
        return min(began for began in calls if began >= after) - after


async def ids_of(query: OapQuery, service: str, wanted: set[str]) -> Counter[str]:
    """The segments that OAP shows of a service, once all are there that are waited for, or the time is up."""
    found: set[str] = set()

    async def look() -> bool:
        found.update(line.segment_id for line in await query.traces(service, limit=MOST))
        return wanted <= found

    with suppress(AssertionError):  # what is missing is for the tests to say
        await eventually(look)
    return Counter(found)
