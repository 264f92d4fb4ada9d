"""Builds the folder that brings the agent into programs by `PYTHONPATH` alone: `dist/inject`.

    make inject                          for all Pythons
    make inject ARGS="--target /opt/swagent"

Bytecode is left for each Python that the README names and this machine has. Exit status 1: it cannot be built.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from injection.folder import ROOT, BuildError, build
from interpreters.place import Machine, UnavailableError

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")


def main() -> int:
    """Build it; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", type=Path, default=ROOT / "dist" / "inject", help="default: dist/inject")
    target: Path = parser.parse_args().target
    pythons = dict(installed())
    try:
        build(target, pythons.values())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{target}: with bytecode for {', '.join(pythons)}")
    return 0


def installed() -> list[tuple[str, str]]:
    """The Pythons of this machine, each with its command."""
    found: list[tuple[str, str]] = []
    for each in VERSIONS:
        try:
            found.append((each, Machine().find(each).command))
        except UnavailableError:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main())
