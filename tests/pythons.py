"""Every Python that the README names, one after the other: what reaches a collector there, and whether the demo runs.

    python tests/pythons.py [--only 3.14 PyPy] [--suites delivery attach unit demo] [--no-root]

3.10 to 3.13 are looked for on the path and in pyenv. The newer ones and PyPy are taken from a bare Debian, made by
debootstrap below `.cache`, where this machine lets us; else from the path, too. What cannot be had is left out, and the
table at the end says so. Exit status 1: something failed that could be tried.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterable, Sequence

from interpreters import bare_root
from interpreters.environment import CommandError
from interpreters.place import Interpreter, Machine, UnavailableError
from interpreters.suites import SUITES, Outcome, failures

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "PyPy")
TRANSPORTS, LOOPS = ("grpc", "http", "kafka", "otlp", "otlp-http"), ("asyncio", "uvloop", "trio")


def main() -> int:
    """Run what is asked for; the exit status."""
    options = _options()
    outcomes: list[Outcome] = []
    for version in options.only:
        try:
            python = find(version, has_root=not options.no_root)
        except UnavailableError as reason:
            print(f"=== {version} is left out: {reason}", flush=True)
            outcomes += [Outcome(version, suite, remark=str(reason)) for suite in options.suites]
            continue
        for suite in options.suites:
            print(f"=== {version}: {suite}", flush=True)
            try:
                outcomes.append(SUITES[suite](python))
            except CommandError as error:
                outcomes.append(Outcome(version, suite, True, str(error)))
    print("\n".join(["", *report(outcomes)]))
    return 1 if failures(outcomes) else 0


def find(version: str, has_root: bool) -> Interpreter:
    """A Python, the newer ones from the bare root where that can be had.

    :raises UnavailableError: when it is nowhere
    """
    if version not in bare_root.PACKAGES or not has_root:
        return Machine().find(version)
    try:
        return _root().find(version)
    except UnavailableError as reason:
        try:
            return Machine().find(version)
        except UnavailableError as other:
            raise UnavailableError(f"{other}, and {reason}") from None


@functools.cache
def _root() -> bare_root.BareRoot:
    return bare_root.make()


def report(outcomes: Sequence[Outcome]) -> Iterable[str]:
    """The table, and a line for each of the other suites."""
    rows = [_row(each, transport) for each in outcomes if each.suite == "delivery" for transport in TRANSPORTS]
    if rows:
        rows = [("Python", "transport", *LOOPS), *rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        yield from ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    for each in outcomes:
        if each.suite != "delivery":
            yield f"{each.version} {each.suite}: {_said(each, 'passed')}"


def _row(outcome: Outcome, transport: str) -> tuple[str, ...]:
    found = [outcome.cells.get((transport, loop), _said(outcome, "not run")) for loop in LOOPS]
    return (outcome.version, transport, *found)


def _said(outcome: Outcome, well: str) -> str:
    if outcome.has_failed:
        return f"FAILED {outcome.remark}".rstrip()
    return f"not available: {outcome.remark}" if outcome.remark else well


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--only", nargs="+", choices=VERSIONS, default=VERSIONS, metavar="PYTHON", help=", ".join(VERSIONS))
    add("--suites", nargs="+", choices=SUITES, default=("delivery",), help="default: delivery")
    add("--no-root", action="store_true", help="make and enter no bare Debian")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
