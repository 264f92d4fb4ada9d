"""The cells: one application for each transport on each event loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

TRANSPORTS = ("grpc", "http", "kafka")
BACKENDS = ("asyncio", "uvloop", "trio")


class Cell(NamedTuple):
    """One application of the run."""

    transport: str
    backend: str

    def __str__(self) -> str:
        return f"{self.transport}-{self.backend}"


def choose_cells(transports: Sequence[str], backends: Sequence[str]) -> list[Cell]:
    """The chosen cells."""
    return [Cell(transport, backend) for transport in transports for backend in backends]
