"""One application on CPython, there with the accelerator too, and on PyPy: bare, and with the agent.

No figures were published.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from interpreters.environment import install, make_environment, run
from interpreters.place import Interpreter, Machine, UnavailableError
from pythons import find
from stress.compare.sinks import Collector
from stress.cost.implementation import build_accelerator
from swagent.acceleration import VARIABLE

from .interpreter_program import WARM_UP
from .lesson import Lesson, middle_of_rounds, ratio

CPYTHON, ACCELERATED, PYPY = "CPython", "CPython, with the accelerator", "PyPy"
_HEADS = (
    "interpreter", "bare, us", "to CPython", "with the agent, us", "to CPython", "the agent adds, us", "to CPython",
)  # fmt: skip
_PROGRAM = "stress.lessons.interpreter_program"


class InterpreterError(Exception):
    """The program ran on an interpreter, and not as it was to."""


class Key(NamedTuple):
    """What is measured once a round."""

    interpreter: str
    has_agent: bool


class Found(NamedTuple):
    """Microseconds, and what became of the records of all rounds."""

    us: Mapping[Key, float]
    made: int
    confirmed: int


def measure(short: bool) -> Lesson:
    """Ask the application on each interpreter in turns, each time in a new process."""
    requests, rounds = (2_000, 1) if short else (10_000, 3)
    pythons, notes = _pythons()
    found = _measure(pythons, requests, rounds)
    rows = [row(each, found.us) for each in pythons]
    notes.append(f"microseconds of the process a request of an ASGI application with a local span, after {WARM_UP:,}")
    return Lesson("CPython and PyPy", _HEADS, rows, notes, faults(found))


def _pythons() -> tuple[Mapping[str, tuple[Interpreter, Mapping[str, str]]], list[str]]:
    """By name the interpreters with the variables of their processes, and why one is left out."""
    ours = Interpreter("", sys.executable, Machine())
    accelerator = build_accelerator(Path(sys.executable))
    path = os.pathsep.join(filter(None, (str(accelerator), os.environ.get("PYTHONPATH"))))
    found: dict[str, tuple[Interpreter, Mapping[str, str]]] = {
        CPYTHON: (ours, {VARIABLE: "off"}),
        ACCELERATED: (ours, {VARIABLE: "auto", "PYTHONPATH": path}),
    }
    try:
        found[PYPY] = _pypy(), {}
    except UnavailableError as reason:
        return found, [f"PyPy is left out: {reason}"]
    return found, []


def _pypy() -> Interpreter:
    """PyPy, with swagent in an environment of its own.

    :raises UnavailableError: when it is nowhere
    """
    found = find(PYPY, has_root=True)
    python = make_environment(found, found.place.folder / "venv-PyPy-lesson")
    install(python, "-e", f"{found.place.repository}[grpc]")
    return python


def _measure(pythons: Mapping[str, tuple[Interpreter, Mapping[str, str]]], requests: int, rounds: int) -> Found:
    counts = {"made": 0, "confirmed": 0}

    with ExitStack() as stack:
        address = Collector("grpc", stack).address

        def measure_one(key: Key) -> float:
            python, environ = pythons[key.interpreter]
            said = _ask(python, environ, address if key.has_agent else "", requests)
            for name in counts:
                counts[name] += int(said[name])
            return said["us"]

        keys = [Key(name, has_agent) for name in pythons for has_agent in (False, True)]
        us = middle_of_rounds(keys, rounds, measure_one)
    return Found(us, **counts)


def _ask(python: Interpreter, environ: Mapping[str, str], address: str, requests: int) -> Mapping[str, float]:
    file = python.place.folder / "lesson.json"
    run(python, "-m", _PROGRAM, address, str(requests), "3", str(file), environ=environ)
    said: Mapping[str, float] = json.loads(python.place.outside(file).read_text())
    if said["is_accelerated"] != (environ.get(VARIABLE) == "auto"):
        raise InterpreterError(f"{python.command} did not record as it was to: the accelerator could not be loaded")
    return said


def row(name: str, us: Mapping[Key, float]) -> Sequence[str]:
    """A row of the table.

    :param us: has CPython's, too
    """

    def pair(interpreter: str) -> tuple[float, float, float]:
        bare, whole = us[Key(interpreter, False)], us[Key(interpreter, True)]
        return bare, whole, whole - bare

    values = zip(pair(name), pair(CPYTHON), strict=True)
    return (name, *(cell for value, base in values for cell in (f"{value:.1f}", ratio(value, base))))


def faults(found: Found) -> list[str]:
    """Why the table is void: a record was lost, or a process took no time."""
    lost = f"{found.made} requests were recorded, {found.confirmed} confirmed"
    return [
        *([lost] if found.made != found.confirmed else []),
        *(f"{key.interpreter}: {us:.2f} us" for key, us in found.us.items() if us <= 0),
    ]
