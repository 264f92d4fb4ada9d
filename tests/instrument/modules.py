"""The facts that the test modules of the instrumentations tell about themselves, by constants at their top.

INSTRUMENTED = ("redis", "valkey")    the instrumentations that are switched on
COLLECTS = ("redis",)                 those whose spans the module shows, where these are not the same
EXAMPLES = ("/orders",)               operations for docs/libraries.md; by default the shortest
AGAINST = "a real Redis"              the peer of the libraries, for docs/libraries.md; a fake is named `a fake: ...`
NEEDS = ("kombu<5.5",)                other packages that `versions.py` installs

They are read and not imported, since the libraries need not be there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_SAID = frozenset({"INSTRUMENTED", "COLLECTS", "EXAMPLES", "AGAINST", "NEEDS"})
_FAKE = "a fake"


@cache
def literals(path: Path) -> dict[str, Any]:
    """The constants of a module."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in _SAID:
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def all_modules() -> Iterator[Path]:
    """All that there are."""
    yield from sorted(Path(__file__).parent.glob("test_*.py"))


def of(library: str) -> list[Path]:
    """The test modules that show what a library's instrumentation collects."""
    return [path for path in all_modules() if library in collects(path)]


def collects(path: Path) -> tuple[str, ...]:
    """The libraries of a test module."""
    said = literals(path)
    names: tuple[str, ...] = said.get("COLLECTS", said.get("INSTRUMENTED", ()))
    return names


def examples(library: str) -> set[str]:
    """The operations that a library's test modules choose."""
    return {each for path in of(library) for each in literals(path).get("EXAMPLES", ())}


def against(library: str) -> list[str]:
    """The servers that a library's tests talk to, in the modules' words."""
    return sorted({literals(path)["AGAINST"] for path in of(library) if "AGAINST" in literals(path)})


def met_only_a_fake(library: str) -> bool:
    """Whether no test lets the library talk to what it was written for."""
    servers = against(library)
    return bool(servers) and all(each.startswith(_FAKE) for each in servers)
