"""The work on each Python: the delivery suite, the suites that need no server, the demo."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from interpreters.environment import install, make_environment
from interpreters.place import REPOSITORY, Interpreter

UNIT = tuple(
    f"tests/{each}" for each in ("record", "config", "pipeline", "meters", "logs", "runtime", "profile", "inspection")
)
_NOT_COPIED = (".git", ".venv", ".cache", ".*_cache", ".hypothesis", "__pycache__")
# The needs of the unit suites that cannot be had; the delivery suite says by itself which parts it leaves out.
_NO_UNIT = {"3.15": "aiokafka has no wheel for it", "PyPy": "hypothesis and aiokafka have no wheels for it"}

Cell = tuple[str, str]  # transport, loop


@dataclass
class Outcome:
    """The outcome of one suite on one Python.

    :ivar has_failed: whether it is a failure
    :ivar remark: why it was left out, or where it failed
    :ivar cells: of the delivery suite, what became of each cell
    """

    version: str
    suite: str
    has_failed: bool = False
    remark: str = ""
    cells: Mapping[Cell, str] = field(default_factory=dict[Cell, str])


def deliver(python: Interpreter) -> Outcome:
    """The delivery suite, with what it needs and nothing else."""
    python = _environment(python, "all", "pytest", "pytest-timeout")
    report = Path(".cache", f"delivery-{python.version}.xml")
    seen = REPOSITORY / report
    seen.unlink(missing_ok=True)
    status = _pytest(python, "tests/delivery", f"--junit-xml={python.place.repository / report}")
    cells = _cells(ElementTree.parse(seen)) if seen.exists() else {}
    return Outcome(python.version, "delivery", status != 0, "" if cells else "it did not begin", cells)


def attach(python: Interpreter) -> Outcome:
    """`swagent attach`, by what Python itself has for it."""
    python = _environment(python, "all", "pytest", "pytest-timeout", "flask", "hypercorn")
    return Outcome(python.version, "attach", _pytest(python, "tests/attach") != 0)


def run_unit(python: Interpreter) -> Outcome:
    """The suites that need no server."""
    if reason := _NO_UNIT.get(python.version):
        return Outcome(python.version, "unit", remark=reason)
    python = _environment(python, "test")
    return Outcome(python.version, "unit", _pytest(python, *UNIT) != 0)


def run_demo(python: Interpreter) -> Outcome:
    """The README's first command, in a copy that has not been used before."""
    folder = python.place.folder / f"demo-{python.version}"
    copy = python.place.outside(folder)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(REPOSITORY, copy, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)
    status = python.place.run(["make", "demo", "ARGS=--once", f"PYTHON={python.command}"], folder, {})
    shutil.rmtree(copy)
    return Outcome(python.version, "demo", status != 0)


def _environment(python: Interpreter, extra: str, *more: str) -> Interpreter:
    """An environment with what a suite needs.

    :raises CommandError: when it cannot be had
    """
    python = make_environment(python, python.place.folder / f"venv-{python.version}")
    install(python, "-e", f".[{extra}]", *more)
    return python


def _pytest(python: Interpreter, *arguments: str) -> int:
    command = [python.command, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return python.place.run(command, python.place.repository, {})


def _cells(report: ElementTree.ElementTree[ElementTree.Element]) -> dict[Cell, str]:
    """The outcome of each cell, of both homes the worse."""
    found: dict[Cell, str] = {}
    for case in report.iter("testcase"):
        transport, loop, _ = case.attrib["name"].partition("[")[2].rstrip("]").rsplit("-", 2)
        said = _verdict(case)
        if found.get((transport, loop), "delivered") == "delivered":
            found[transport, loop] = said
    return found


def _verdict(case: ElementTree.Element) -> str:
    if (skipped := case.find("skipped")) is not None:
        return skipped.attrib.get("message", "left out")
    return "delivered" if case.find("failure") is None and case.find("error") is None else "FAILED"


SUITES = {"delivery": deliver, "attach": attach, "unit": run_unit, "demo": run_demo}


def failures(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those that a person has to look at."""
    return [each for each in outcomes if each.has_failed]
