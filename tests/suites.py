"""The suites that prove what changed: `python tests/suites.py main` prints them, for `make test CHANGED=main`.

The table is `suites.toml`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTS = Path(__file__).parent
ROOT = TESTS.parent
_TABLE = tomllib.loads((TESTS / "suites.toml").read_text(encoding="utf-8"))
PROVES: dict[str, list[str]] = _TABLE["proves"]
EVERY_LOOP: list[str] = _TABLE["every_loop"]
TIERS: dict[str, list[str]] = {each: _TABLE[each] for each in ("gate", "slow")}
# all suites stand on these
_SHARED = ("tests/kit/", "tests/conftest.py", "tests/budget.py", "tests/suites.py", "tests/suites.toml")
_SOURCES = (".py", ".pyi", ".js", ".c", ".h", ".proto")


def suites_of(source: str) -> list[str]:
    """Return the suites that prove a source: none if the table does not know it.

    :param source: its path from the root of the repository
    """
    prefixes = [each for each in PROVES if source == each or source.startswith(f"{each}/")]
    return [f"tests/{each}" for each in PROVES[max(prefixes, key=len)]] if prefixes else []


def suites_of_change(paths: Iterable[str]) -> list[str]:
    """Return the suites for changed paths, which are given from the root of the repository.

    :raises LookupError: if the table does not know a source
    """
    found: dict[str, None] = {}
    for path in paths:
        if path.startswith(_SHARED):
            return ["tests"]
        suites = suites_of(path)
        if path.startswith("tests/"):
            suites = ["/".join(path.split("/")[:2])]
        elif not suites and path.endswith(_SOURCES):
            raise LookupError(f"{path} has no suite: add it to tests/suites.toml")
        found.update(dict.fromkeys(suites))
    return [each for each in found if (ROOT / each).exists()]


def is_part(path: Path, suites: Iterable[str]) -> bool:
    """Return whether a test module belongs to a list of suites."""
    name = path.relative_to(TESTS).as_posix()
    return any(name == each or name.startswith(f"{each}/") for each in suites)


def _changed_since(revision: str) -> list[str]:
    commands = (["diff", "--name-only", revision], ["ls-files", "--others", "--exclude-standard"])
    runs = [subprocess.run(["git", *each], cwd=ROOT, check=True, capture_output=True, text=True) for each in commands]
    return [path for run in runs for path in run.stdout.splitlines()]


if __name__ == "__main__":
    print(*suites_of_change(_changed_since(sys.argv[1])))
