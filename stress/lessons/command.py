"""`python -m stress lessons`: the lessons' tables, each beside the published figures, as ratios within one run.

Exit status: 0 if each table says what it can say; 1 where something was lost, or a comparison came out void.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from stress.choices import some
from stress.environments import CACHE
from stress.machine import describe_machine

from .lesson import Lesson

LESSONS: Mapping[str, str] = {
    "awaits": "stress.lessons.awaits",
    "pool": "stress.lessons.pool",
    "connections": "stress.lessons.connections",
    "log-lines": "stress.lessons.log_lines",
    "batches": "stress.lessons.batches",
    "handover": "stress.lessons.handover",
    "kafka": "stress.lessons.kafka_clients",
    "http": "stress.lessons.http",
    "names": "stress.lessons.names",
    "interpreters": "stress.lessons.interpreters",
}
"""The lessons by their names: modules with `measure(short) -> Lesson`."""


def main(arguments: list[str]) -> int:
    """Run them.

    :returns: the exit status
    """
    given = _parse(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    print(describe_machine(), flush=True)
    found: dict[str, Lesson] = {}
    for name in given.lessons:
        found[name] = import_module(LESSONS[name]).measure(given.short)
        print("", found[name].render(), sep="\n", flush=True)
        for file, picture in found[name].pictures.items():
            (given.out / file).write_text(picture)
    (given.out / "lessons.md").write_text("\n\n".join(each.render() for each in found.values()) + "\n")
    document = {"machine": describe_machine(), "lessons": {name: each.document() for name, each in found.items()}}
    (given.out / "lessons.json").write_text(json.dumps(document, indent=1))
    return 1 if any(each.faults for each in found.values()) else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress lessons", description="The lessons' tables.")
    parser.add_argument("--lessons", type=some(LESSONS), default=tuple(LESSONS), help=",".join(LESSONS))
    parser.add_argument("--short", action="store_true", help="fewer rounds and seconds; the figures are rough")
    parser.add_argument("--out", type=Path, default=CACHE / "lessons", help="(%(default)s)")
    return parser.parse_args(arguments)
