"""On which event loops a case runs: `--loops`.

A case runs on one loop, and the cases of a module take the loops in turn. Suites that `suites.toml` lists under
`every_loop`, and tests that the fault matrix counts, run on each loop, since the loop can matter there; the mark
`one_loop` takes a table of bytes out again. `--loops=one` runs those on one loop, too, for a first quick look, and
`--loops=others` runs what `--loops=one` left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import count
from pathlib import Path

import pytest

from suites import EVERY_LOOP, is_part

_PARAMETER = "anyio_backend"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--loops", choices=("own", "one", "others"), default="own", help="on which loops a case runs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    spare = left_out(items, config.getoption("loops"))
    items[:] = [item for item in items if item not in spare]
    config.hook.pytest_deselected(items=[*spare])


def left_out(items: Iterable[pytest.Item], loops: str) -> set[pytest.Item]:
    """Return the tests that do not run.

    :param loops: the value of the option
    """
    turns: dict[Path, count[int]] = defaultdict(count)
    spare: set[pytest.Item] = set()
    for cases in _by_case(items).values():
        chosen = {cases[next(turns[cases[0].path]) % len(cases)]}
        matters = _can_matter(cases[0])
        if loops == "others":
            spare |= chosen if matters else {*cases}
        elif loops == "one" or not matters:
            spare |= {*cases} - chosen
    return spare


def _can_matter(item: pytest.Item) -> bool:
    """Return whether a test may have another outcome on another loop."""
    if item.get_closest_marker("one_loop") is not None:
        return False
    return item.get_closest_marker("covers") is not None or is_part(item.path, EVERY_LOOP)


def _by_case(items: Iterable[pytest.Item]) -> dict[Hashable, list[pytest.Item]]:
    """Group the tests that differ in their loop only."""
    found: defaultdict[Hashable, list[pytest.Item]] = defaultdict(list)
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if _PARAMETER in parameters:
            # by identity, since a mark may give the loop together with another parameter, and under one index
            rest = frozenset((name, id(value)) for name, value in parameters.items() if name != _PARAMETER)
            found[item.nodeid.partition("[")[0], rest].append(item)
        else:
            found[item.nodeid].append(item)
    return found
