"""A collector that is away for minutes, under load: what the memory does, and what becomes of the records."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .process import SENDER, conversing
from .sinks import counting_sink

RATE = 2000.0
CALM = 5.0
"""Seconds with a collector, before the outage."""
RECOVERY = 45.0
"""Seconds with a collector after it: an agent looks again within 30."""
FILLING = 10.0
"""Seconds after which the channel is full: it has room for five."""
FLAT_BYTES = 2 * 1024 * 1024
"""How much the memory may grow once the channel is full."""


@dataclass(frozen=True)
class Outage:
    """The result of an outage.

    :ivar answer: the sender's report on itself
    :ivar delivered: how many segments arrived, before and after
    :ivar seconds: how long no collector answered
    """

    transport: str
    answer: dict[str, Any]
    delivered: int
    seconds: float

    @property
    def growth(self) -> int:
        """Bytes of memory from when the channel was full to the outage's end: the median of the last quarter of that
        time over the median of its first."""
        full = [resident for at, resident, _ in self.answer["samples"] if CALM + FILLING <= at < CALM + self.seconds]
        quarter = max(1, len(full) // 4)
        return _middle(full[-quarter:]) - _middle(full[:quarter])

    @property
    def faults(self) -> list[str]:
        """The things that should not have happened, in words."""
        answer, found = self.answer, []
        if not answer["balanced"]:
            found.append("the ledger does not balance")
        # what was under way when the collector was killed may have been counted or not, as the ledger says
        spread = answer["dropped"].get("ambiguous", 0)
        if not answer["confirmed"] <= self.delivered <= answer["confirmed"] + spread:
            found.append(f"confirmed {answer['confirmed']}, ambiguous {spread}, delivered {self.delivered}")
        if not answer["refused"].keys() & {"full", "shed"}:
            found.append("the channel never was full")
        if self.growth > FLAT_BYTES:
            found.append(f"the memory grew by {self.growth} bytes while the channel was full")
        return found


def run_outage(protocol: str, loop: str, minutes: float) -> Outage:
    """Send at a steady rate, kill the collector, let it come back."""
    seconds = minutes * 60
    with counting_sink(protocol) as first:
        port = int(first.address.rpartition(":")[2])
        with conversing("stress.pipeline.sender", protocol, first.address, loop, core=SENDER) as sender:
            sender.hear()
            before = first.count()
            sender.say(json.dumps({"do": "pace", "rate": RATE, "seconds": CALM + seconds + RECOVERY}))
            time.sleep(CALM)
            delivered = first.end() - before
            time.sleep(seconds)
            with counting_sink(protocol, port) as second:
                answer = json.loads(sender.hear())
                return Outage(protocol, answer, delivered + second.count(), seconds)


def _middle(values: Sequence[int]) -> int:
    return sorted(values)[len(values) // 2]
