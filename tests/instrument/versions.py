"""The tests of the instrumentations with the oldest version of each library; `make test` has the newest.

    python tests/instrument/versions.py [--python 3.10] [--only redis httpx]

The versions are the lower bounds of the instrumentations' own specifiers. All of them go into one environment where
they get on with each other, and else into as few as can be found by halving; the environments are kept in `.cache`. A
test module's libraries are those of its `INSTRUMENTED`, and what else it needs there is in its `NEEDS`. Tests that want
a server run where it can be had. Exit status 1: a test failed, or a version cannot be installed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from packaging.specifiers import SpecifierSet

from instrument.libraries import instrumentations
from interpreters.place import CACHE, REPOSITORY, Machine, UnavailableError
from swagent.instrument.instrumentation import STANDARD_LIBRARY

TOOLS = ("anyio", "pytest>=8.3", "pytest-timeout>=2.3", "trio>=0.27", "uvloop>=0.21; implementation_name == 'cpython'")
# Old versions have wheels for old Pythons.
_PYTHONS = ("3.10", "3.11", "3.12", "3.13")


@dataclass(frozen=True)
class Suite:
    """A test module, and what has to be installed for it."""

    path: Path
    names: tuple[str, ...]
    requirements: tuple[str, ...]


class ConflictError(Exception):
    """These do not go into one environment."""


def main() -> int:
    """Run what is asked for; the exit status."""
    options = _options()
    python = find_python(options.python)
    suites = [each for each in find_suites() if not options.only or set(options.only) & set(each.names)]
    failed = [path for path, passed in _run(python, suites) if not passed]
    print("\n".join(f"FAILED {path.relative_to(REPOSITORY)}" for path in failed) or "all passed")
    return 1 if failed else 0


def find_suites() -> Iterator[Suite]:
    """The test modules that name instrumentations."""
    oldest = {each.name: oldest_of(each.package, each.versions) for each in instrumentations()}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        said = _literals(path)
        names = said.get("INSTRUMENTED", ())
        requirements = tuple(filter(None, (oldest[name] for name in names)))
        if requirements:
            yield Suite(path, names, (*requirements, *said.get("NEEDS", ())))


def oldest_of(distribution: str, versions: str) -> str:
    """The requirement of the oldest version that a specifier allows; empty where there is nothing to choose."""
    if distribution == STANDARD_LIBRARY or not versions:
        return ""
    bounds = [each.version for each in SpecifierSet(versions) if each.operator in (">=", "~=", "==")]
    if len(bounds) != 1:
        raise ValueError(f"{distribution}: {versions} has no lower bound")
    # where several bring the same module, the first stands for them
    return f"{distribution.split()[0]}=={bounds[0]}"


def find_python(version: str | None) -> str:
    """The Python to run with: the oldest that this machine has."""
    for each in (version,) if version else _PYTHONS:
        try:
            return Machine().find(each).command
        except UnavailableError as reason:
            if version:
                sys.exit(str(reason))
    return sys.executable


def _run(python: str, suites: Sequence[Suite]) -> Iterator[tuple[Path, bool]]:
    """Each test module, and whether it passed."""
    if not suites:
        return
    try:
        environment = _install(python, suites)
    except ConflictError as error:
        if len(suites) == 1:
            print(f"=== cannot be installed: {error}", flush=True)
            yield suites[0].path, False
            return
        half = len(suites) // 2
        yield from _run(python, suites[:half])
        yield from _run(python, suites[half:])
        return
    for suite in suites:
        print(f"=== {suite.path.name}: {', '.join(suite.requirements)}", flush=True)
        # what an old library says of itself is no fault of ours
        command = ["-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider", "-m", "not slow", str(suite.path)]
        yield suite.path, not subprocess.run([environment, *command], cwd=REPOSITORY, check=False).returncode


def _install(python: str, suites: Sequence[Suite]) -> str:
    """The Python of an environment with what these need.

    :raises ConflictError: there is no such environment
    """
    wanted = sorted({each for suite in suites for each in suite.requirements})
    key = hashlib.sha256("\n".join([python, *wanted, *TOOLS]).encode()).hexdigest()[:12]
    folder = CACHE / "oldest" / key
    command = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"=== an environment with {', '.join(wanted)}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        pip = [str(command), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", str(REPOSITORY)]
        done = subprocess.run([*pip, *TOOLS, *wanted], capture_output=True, text=True, check=False, env=_environ())
        if done.returncode:
            shutil.rmtree(folder)
            raise ConflictError(done.stderr.strip()[-1000:])
        (folder / "complete").touch()
    return str(command)


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _literals(path: Path) -> dict[str, tuple[str, ...]]:
    """What a module says of itself, unimported: its libraries are not there."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("INSTRUMENTED", "NEEDS"):
                found[name] = tuple(ast.literal_eval(node.value))
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", metavar="VERSION", help="such as 3.10; default: the oldest that is found")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="instrumentations")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
