"""The cells that are measured: each a transport, an event loop, a form and a number of producers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

TRANSPORTS = ("grpc", "http", "kafka", "kafka-broker")
"""`kafka` is a counting broker that waits, `kafka-broker` a real one that answers as soon as it can."""
LOOPS = ("asyncio", "uvloop", "trio")
FORMS = ("recorded", "finished")
"""`recorded`: spans opened, tagged and closed through the public API, encoded, offered, shipped. `finished`: from the
finished segment on."""
PRODUCERS = (1, 10, 100, 1000)


@dataclass(frozen=True)
class Cell:
    """One figure's conditions."""

    transport: str
    loop: str
    form: str
    producers: int

    @property
    def protocol(self) -> str:
        """swagent's name of the transport."""
        return self.transport.partition("-")[0]

    def __str__(self) -> str:
        return f"{self.transport} {self.loop} {self.form} {self.producers}"


def choose_cells(
    transports: Sequence[str], loops: Sequence[str], forms: Sequence[str], producers: Iterable[int]
) -> list[Cell]:
    """All combinations, those of one transport beside each other: they share a collector."""
    counts = list(producers)
    return [
        Cell(transport, loop, form, count)
        for transport in transports for loop in loops for form in forms for count in counts
    ]  # fmt: skip
