"""`python -m stress pipeline`: arguments in; tables, JSON and a plot out."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from stress.choices import some
from stress.environments import CACHE, python_with, with_this_code
from stress.machine import describe_machine

from .cells import FORMS, LOOPS, PRODUCERS, TRANSPORTS, Cell, choose_cells
from .figures import fallen
from .measuring import Figure, measure
from .outage import run_outage
from .plot import REQUIREMENTS
from .process import SENDER, conversing, pinned
from .ratios import ratios_of, read_recorded, speed_of, write_recorded
from .report import render, render_imports, render_micro, render_outage
from .sinks import Sink, open_sink
from .starts import MODULES, import_seconds

_SHORT_TRANSPORTS = ("grpc", "http", "kafka")
_SHORT_ROUNDS, _SHORT_SECONDS = 6, 0.2
_MOST_PASSES = 6
_WARM_UP_SECONDS = 5.0


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0 when everything was delivered, and no ratio fell
    """
    given = _parse(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    return _short(given) if given.short or given.record else _full(given)


def _full(given: argparse.Namespace) -> int:
    cells = choose_cells(given.transports, given.loops, given.forms, given.producers)
    figures: list[Figure] = []
    micro: dict[str, dict[str, float]] = {}
    for transport, group in groupby(cells, lambda cell: cell.transport):
        with open_sink(transport) as sink:
            if transport == "kafka-broker":
                _warm_up(sink)
            for cell in [each for each in group for _ in range(given.rounds)]:
                # a fresh process each: none inherits the memory of another
                with conversing(
                    "stress.pipeline.sender", cell.protocol, sink.address, cell.loop, core=SENDER
                ) as sender:
                    sender.hear()
                    figures.append(measure(cell, sender, sink, given.seconds, given.turn))
                    if cell.protocol not in micro:
                        micro[cell.protocol] = sender.ask('{"do": "micro"}')
                print(_line(figures[-1]), flush=True)
    outages = [run_outage(name, given.loops[0], given.outage) for name in _countable(given)] if given.outage else []
    imports = {name: import_seconds(name) for name in MODULES}
    texts = [render(figures), render_micro(micro), render_imports(imports), *map(render_outage, outages)]
    _write(given.out, figures, texts, {"micro": micro, "imports": imports, "outages": [vars(each) for each in outages]})
    if given.plot:
        _draw(given.out)
    faults = [each.fault for each in figures if each.fault] + [fault for each in outages for fault in each.faults]
    return 1 if faults else 0


def _short(given: argparse.Namespace) -> int:
    """All cells, and all again while a ratio seems to have fallen.

    A ratio is one of least costs. Each pass can only lower these, towards the costs on an undisturbed machine; a cost
    that rose by the code stays above. So a neighbour's busy minute needs more passes, and a regression none the less
    shows after all of them.
    """
    figures: list[Figure] = []
    micro: dict[str, dict[str, float]] = {}
    faults: list[str] = []
    for _ in range(_MOST_PASSES):
        _measure_short(figures, micro, given.turn)
        faults = [f"{each.cell}: {each.fault}" for each in figures if each.fault]
        ratios = ratios_of((each for each in figures if each.cell.loop == "asyncio"), micro)
        if faults or given.record:
            break
        faults = fallen(ratios, read_recorded())
        if not faults:
            break
    _write(given.out, figures, [render(figures), render_micro(micro)], {"micro": micro, "ratios": ratios})
    if given.record and not faults:
        write_recorded(ratios)
    print("", *faults or ["Everything was delivered, and no ratio fell."], sep="\n", flush=True)
    return 1 if faults else 0


def _measure_short(figures: list[Figure], micro: dict[str, dict[str, float]], turn: int) -> None:
    """A process a transport, rounds of its cells taking turns; then one round for each of the other loops."""
    for transport in _SHORT_TRANSPORTS:
        cells = choose_cells([transport], ["asyncio"], FORMS, (PRODUCERS[0], PRODUCERS[-1]))
        with open_sink(transport) as sink:
            with conversing("stress.pipeline.sender", transport, sink.address, "asyncio", core=SENDER) as sender:
                sender.hear()
                found = sender.ask('{"do": "micro"}')
                if transport not in micro or speed_of(found) > speed_of(micro[transport]):
                    micro[transport] = found
                rounds = cells * _SHORT_ROUNDS
                figures += [measure(cell, sender, sink, _SHORT_SECONDS, turn) for cell in rounds]
            for loop in ("uvloop", "trio"):
                with conversing("stress.pipeline.sender", transport, sink.address, loop, core=SENDER) as sender:
                    sender.hear()
                    figures.append(measure(Cell(transport, loop, "recorded", 10), sender, sink, 0.2, turn))


def _draw(out: Path) -> None:
    python = python_with("plots", REQUIREMENTS)
    subprocess.run([str(python), "-m", "stress.pipeline.plot", str(out)], env=with_this_code(), check=True)


def _warm_up(sink: Sink) -> None:
    """A JVM compiles what it does often; before that it takes several times as long."""
    with conversing("stress.pipeline.sender", "kafka", sink.address, "asyncio", core=SENDER) as sender:
        sender.hear()
        measure(Cell("kafka", "asyncio", "finished", 10), sender, sink, _WARM_UP_SECONDS, 64)


def _countable(given: argparse.Namespace) -> Iterable[str]:
    return [name for name in given.transports if name in _SHORT_TRANSPORTS]


def _line(figure: Figure) -> str:
    if figure.fault:
        return f"{figure.cell}: void: {figure.fault}"
    return f"{figure.cell}: {figure.per_second:,.0f} segments/s, {figure.per_cpu_second:,.0f} segments/CPU s"


def _write(out: Path, figures: Sequence[Figure], texts: Sequence[str], more: dict[str, Any]) -> None:
    text = "\n\n".join(texts)
    print("", text, "", f"written to {out}", sep="\n", flush=True)
    (out / "pipeline.md").write_text(text + "\n")
    measured = {"figures": [each.document() for each in figures], **more}
    document = {"machine": describe_machine(), "pinned": pinned(), **measured}
    (out / "pipeline.json").write_text(json.dumps(document, indent=1))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m stress pipeline",
        description="Segments from finish to acknowledgement, over each transport and loop, to a collector that waits.",
    )
    parser.add_argument("--transports", type=some(TRANSPORTS), default=TRANSPORTS, help=",".join(TRANSPORTS))
    parser.add_argument("--loops", type=some(LOOPS), default=LOOPS, help=",".join(LOOPS))
    parser.add_argument("--forms", type=some(FORMS), default=FORMS, help=",".join(FORMS))
    parser.add_argument("--producers", type=_numbers, default=PRODUCERS, help=",".join(map(str, PRODUCERS)))
    parser.add_argument("--seconds", type=float, default=3.0, help="that producers produce (%(default)g)")
    parser.add_argument("--rounds", type=int, default=1, help="of each cell (%(default)d)")
    parser.add_argument("--turn", type=int, default=64, metavar="SEGMENTS",
                        help="that a producer finishes before others have their turn (%(default)d)")  # fmt: skip
    parser.add_argument("--outage", type=float, default=0.0, metavar="MINUTES",
                        help="also measure the memory while no collector answers for so long")  # fmt: skip
    parser.add_argument("--plot", action="store_true", help="also draw pipeline.svg, in an environment of its own")
    parser.add_argument("--short", action="store_true", help="a minute or some; compare with the recorded ratios")
    parser.add_argument("--record", action="store_true", help="as --short, and record its ratios")
    parser.add_argument("--out", type=Path, default=CACHE / "pipeline", help="(%(default)s)")
    return parser.parse_args(arguments)


def _numbers(text: str) -> Sequence[int]:
    return [int(each) for each in text.split(",")]
