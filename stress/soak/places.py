"""The applications of a run, each with its proxy, its sink and its load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kit.proxy import Proxy
from kit.real.ports import free_ports

from .applications import Application
from .broker import Broker
from .cells import Cell
from .load import Load
from .sinks import Collectors, Sink


@dataclass(frozen=True)
class Place:
    """One cell and all that belongs to it."""

    cell: Cell
    application: Application
    proxy: Proxy
    sink: Sink
    load: Load
    rate: float


def build(
    cells: Sequence[Cell], rate: float, folder: Path, stack: ExitStack, environ: Mapping[str, str]
) -> list[Place]:
    """Everything, not started yet; what it takes is given back with the stack.

    :param environ: variables of the applications
    """
    first, second, *ports = free_ports(2 + 3 * len(cells))
    places: list[Place] = []
    for transport in dict.fromkeys(cell.transport for cell in cells):
        mine = {cell: [ports.pop() for _ in range(3)] for cell in cells if cell.transport == transport}
        inner = {cell: each[1] for cell, each in mine.items()}
        outer = {cell: each[2] for cell, each in mine.items()}
        is_kafka = transport == "kafka"
        sink: Sink = (
            Broker((first, second), inner, outer)
            if is_kafka
            else Collectors(transport, inner, folder, has_profiles=bool(environ))
        )
        stack.callback(sink.close)
        for cell in mine:
            application = Application(cell, mine[cell][0], f"127.0.0.1:{outer[cell]}", folder, environ)
            stack.callback(application.close)
            proxy = Proxy(inner[cell], port=outer[cell])
            places.append(Place(cell, application, proxy, sink, Load(application.port, rate), rate))
    return places
