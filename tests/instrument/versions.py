"""The tests of the instrumentations with the oldest version of each library; `make test` has the newest.

    python tests/instrument/versions.py [--python 3.10] [--only redis httpx]

The versions are the lower bounds of the instrumentations' own specifiers. The agent and pytest go into one environment,
and what a test module needs into a folder of its own before it on the path, since many old versions do not get on with
each other. Both are kept in `.cache`. A test module's libraries are those of its `INSTRUMENTED`, and what else it needs
with these versions is in its `NEEDS`. Tests that want a server run where it can be had. Exit status 1: a test failed,
or a version cannot be installed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from packaging.specifiers import SpecifierSet

from instrument.libraries import instrumentations
from instrument.modules import all_modules, literals
from interpreters.environment import install, make_environment
from interpreters.place import CACHE, REPOSITORY, Interpreter, Machine, UnavailableError
from swagent.instrument.instrumentation import STANDARD_LIBRARY

TOOLS = ("anyio", "pytest>=8.3", "pytest-timeout>=2.3", "trio>=0.27", "uvloop>=0.21; implementation_name == 'cpython'")
_PIP = ("-m", "pip", "install", "-q", "--disable-pip-version-check")
# Old versions have wheels for old Pythons.
_PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# It is about the pools of many libraries at once, some of which are seen in newer versions only.
_NEWER = "test_pools.py"


@dataclass(frozen=True)
class Suite:
    """A test module, and what has to be installed for it."""

    path: Path
    names: tuple[str, ...]
    requirements: tuple[str, ...]


def main() -> int:
    """Run what is asked for; the exit status."""
    options = _options()
    python = find_python(options.python)
    suites = [each for each in find_suites() if not options.only or set(options.only) & set(each.names)]
    environment = _environment(python)
    failed = [each for each in suites if not _passes(environment, each)]
    print("\n".join(f"FAILED {each.path.relative_to(REPOSITORY)}" for each in failed) or "all passed")
    return 1 if failed else 0


def find_suites() -> Iterator[Suite]:
    """The test modules that name instrumentations."""
    oldest = {each.name: oldest_of(each.package, each.versions) for each in instrumentations()}
    for path in all_modules():
        said = literals(path)
        names = said.get("INSTRUMENTED", ())
        requirements = tuple(filter(None, (oldest[name] for name in names)))
        if requirements and path.name != _NEWER:
            yield Suite(path, names, (*requirements, *said.get("NEEDS", ())))


def oldest_of(distribution: str, versions: str) -> str:
    """The requirement of the oldest version that a specifier allows; empty where there is nothing to choose."""
    if distribution == STANDARD_LIBRARY or not versions:
        return ""
    bounds = [each.version for each in SpecifierSet(versions) if each.operator in (">=", "~=", "==")]
    if len(bounds) != 1:
        raise ValueError(f"{distribution}: {versions} has no lower bound")
    # where several bring the same module, the first represents them
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


def _environment(python: str) -> str:
    """The Python of an environment with the agent and pytest."""
    asked = [(REPOSITORY / each).read_text() for each in ("pyproject.toml", "tests/pins.txt")]
    folder = _kept([python, *TOOLS, *asked])
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        install(make_environment(Interpreter("", python, Machine()), folder), "-e", ".", *TOOLS)
        (folder / "complete").touch()
    return str(folder / "bin" / "python")


def _passes(python: str, suite: Suite) -> bool:
    print(f"=== {suite.path.name}: {', '.join(suite.requirements)}", flush=True)
    folder = _kept([python, *suite.requirements])
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        # with what the agent itself needs, or they might be of versions that it cannot run with
        ours = [each for each in requires("swagent") or () if "extra ==" not in each]
        # a suite imports little of what is installed, and compiles that itself
        done = subprocess.run(
            [python, *_PIP, "--no-compile", "--target", str(folder), *suite.requirements, *ours], check=False
        )
        if done.returncode:
            return False
        (folder / "complete").touch()
    # a warning of an old library about itself is no fault of ours
    command = ["-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider", "-m", "not slow", str(suite.path)]
    # nor need it have all that the newest has
    environ = {**os.environ, "PYTHONPATH": str(folder), "SWAGENT_TESTS_COLLECT": "new"}
    return not subprocess.run([python, *command], cwd=REPOSITORY, env=environ, check=False).returncode


def _kept(contents: Sequence[str]) -> Path:
    return CACHE / "oldest" / hashlib.sha256("\n".join(contents).encode()).hexdigest()[:12]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", metavar="VERSION", help="such as 3.10; default: the oldest that is found")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="instrumentations")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
