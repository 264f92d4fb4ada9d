"""One measurement: a sender and a sink, asked before and after."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from .cells import Cell
from .process import Conversation
from .sinks import Sink


@dataclass(frozen=True)
class Figure:
    """The result of one measurement.

    :ivar answer: the sender's report on itself
    :ivar delivered: how many segments have arrived at the sink
    :ivar sink_share: the share of one core that the sink used
    :ivar steal: the share of all cores' time that the machine below took away
    """

    cell: Cell
    answer: dict[str, Any]
    delivered: int
    sink_share: float
    steal: float

    @property
    def fault(self) -> str:
        """Why the figure is void; empty when it is not."""
        answer = self.answer
        if not answer["balanced"]:
            return "the ledger does not balance"
        if answer["refused"] or answer["dropped"]:
            return f"refused {answer['refused']}, dropped {answer['dropped']}"
        if not self.delivered == answer["offered"] == answer["confirmed"]:
            return f"offered {answer['offered']}, confirmed {answer['confirmed']}, delivered {self.delivered}"
        return "nothing was sent" if not self.delivered else ""

    @property
    def per_second(self) -> float:
        """Segments delivered in a second of wall time."""
        return self.delivered / float(self.answer["seconds"])

    @property
    def per_cpu_second(self) -> float:
        """Segments delivered in a second of the sender's CPU time."""
        return self.delivered / float(self.answer["cpu"])

    @property
    def cost(self) -> float:
        """CPU time of one segment, in turns of the calibration's loop."""
        return float(self.answer["cpu"]) / self.delivered / float(self.answer["calibration"])

    def document(self) -> dict[str, Any]:
        """All of it, for JSON."""
        rates = {"per_second": self.per_second, "per_cpu_second": self.per_cpu_second, "cost": self.cost}
        return {**asdict(self), **rates, "fault": self.fault}


def measure(cell: Cell, sender: Conversation, sink: Sink, seconds: float, turn: int) -> Figure:
    """Let the sender send as fast as it can, for so many seconds."""
    before, cpu, machine = sink.count(), sink.cpu(), psutil.cpu_times()
    order = {"do": "pump", "form": cell.form, "producers": cell.producers, "seconds": seconds, "turn": turn}
    answer = sender.ask(json.dumps(order))
    after = psutil.cpu_times()
    share = (sink.cpu() - cpu) / answer["seconds"]
    lost = after.steal - machine.steal
    return Figure(cell, answer, sink.count() - before, share, lost / (sum(after) - sum(machine) or 1.0))
