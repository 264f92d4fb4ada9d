"""The mark `one_loop`, for tables of bytes: what is decoded or decided without a wait is the same on every loop.

Each case of such a test runs on one loop. The cases of a module take the loops in turn, so that each loop still has its
share of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import count
from pathlib import Path

import pytest

_PARAMETER = "anyio_backend"


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that are not needed: another loop has the same case."""
    turns: dict[Path, count[int]] = defaultdict(count)
    spare: set[pytest.Item] = set()
    for cases in _by_case(items).values():
        chosen = cases[next(turns[cases[0].path]) % len(cases)]
        spare.update(case for case in cases if case is not chosen)
    return spare


def _by_case(items: Iterable[pytest.Item]) -> dict[Hashable, list[pytest.Function]]:
    """The tests so marked, those that differ only in their loop together."""
    found: defaultdict[Hashable, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("one_loop") is not None:
            # by identity, since a mark may give the loop together with another parameter, and under one index
            rest = frozenset((name, id(value)) for name, value in item.callspec.params.items() if name != _PARAMETER)
            found[item.path, item.originalname, rest].append(item)
    return found
