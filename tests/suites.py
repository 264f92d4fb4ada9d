"""The suites that prove what changed: `python tests/suites.py --since main` prints them, for `make test CHANGED=main`.

The table is `suites.toml`. A change of what all suites share (`tests/kit`, `tests/conftest.py`) selects all of them.
"""

from __future__ import annotations

import argparse
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
PROVES: dict[str, list[str]] = tomllib.loads((TESTS / "suites.toml").read_text(encoding="utf-8"))["proves"]
SHARED = ("tests/kit/", "tests/conftest.py", "tests/budget.py", "tests/suites")


def suites_of(source: str) -> list[str]:
    """Return the suites that prove a source, in the order of the table; none if the source is not in the table.

    :param source: its path from the root of the repository, with slashes
    """
    prefixes = [each for each in PROVES if source == each or _is_below(source, each)]
    return PROVES[max(prefixes, key=len)] if prefixes else []


def suites_of_change(paths: Iterable[str]) -> list[str]:
    """Return the suites for a set of changed paths, each as a path from the root.

    :raises LookupError: if the table does not know a path
    """
    found: dict[str, None] = {}
    for path in paths:
        if path.startswith(SHARED):
            return ["tests"]
        if path.startswith("tests/"):
            found["/".join(path.split("/")[:2])] = None
            continue
        suites = suites_of(path)
        if not suites and path.endswith((".py", ".js", ".c", ".h", ".toml")):
            raise LookupError(f"{path} has no suite: add it to tests/suites.toml")
        found.update(dict.fromkeys(f"tests/{each}" for each in suites))
    return [each for each in found if (ROOT / each).exists()]


def _is_below(source: str, prefix: str) -> bool:
    # `_otlp` stands for all modules whose names begin so, `swagent/asgi` for a folder
    return source.startswith(f"{prefix}/") or (prefix.rpartition("/")[2].startswith(("_", "otlp")) and source.startswith(prefix))


def main() -> int:
    """Print the suites; the exit status is 0 if there is a suite to run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--since", required=True, metavar="REVISION", help="compare the work tree with this revision")
    since = parser.parse_args().since
    changed = _git("diff", "--name-only", since) + _git("ls-files", "--others", "--exclude-standard")
    print(*suites_of_change(changed))
    return 0


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
