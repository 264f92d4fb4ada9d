"""Which tests run, and on which event loops: `--tier=test`, `gate` or `nightly`.

A test belongs to the tier of its marks: `gate`, or `slow` and `e2e` for the nightly. `suites.toml` marks whole suites,
and a mark `gate` counts before the others.

A case runs on one loop, and the cases of a module take the loops in turn. If the loop can matter, a case runs on each:
in suites that `suites.toml` lists under `every_loop`, and in tests that the fault matrix counts, but not in tests with
the mark `one_loop`. `make test` runs one loop of each case, and the gate the others. Without the option all tests run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import count
from pathlib import Path

import pytest

from suites import EVERY_LOOP, TESTS, TIERS, is_part

_MARKS = {"gate": "gate", "slow": "nightly", "e2e": "nightly"}
_PARAMETER = "anyio_backend"
_MARKS_OF_ALL = re.compile(r"^pytestmark = (?:.*\n(?:[ \])].*\n)*)", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=("test", "gate", "nightly"), help="run the tests of one tier")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spare a tier the imports of modules that have no test for it."""
    tier = config.getoption("tier")
    if (
        tier == "test"
        and TESTS in collection_path.parents
        and any(is_part(collection_path, each) for each in TIERS.values())
    ):
        return True
    if tier in ("test", "gate") and collection_path.name.startswith("test_") and _is_spare(collection_path, tier):
        return True
    return None


def _is_spare(path: Path, tier: str) -> bool:
    text = path.read_text(encoding="utf-8")
    if tier == "gate" and "mark.gate" in text:
        return False
    said = _MARKS_OF_ALL.search(text)
    return is_part(path, TIERS["slow"]) or (said is not None and re.search("mark.(slow|e2e)", said[0]) is not None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.get_closest_marker(each) for each in _MARKS):
            for mark, suites in TIERS.items():
                if is_part(item.path, suites):
                    item.add_marker(mark)
    chosen = set(choose(items, config.getoption("tier")))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def choose(items: Iterable[pytest.Item], tier: str | None) -> Iterator[pytest.Item]:
    """Yield the tests that a tier runs.

    :param tier: None for those of all tiers
    """
    turns: dict[Path, count[int]] = defaultdict(count)
    for cases in _by_case(items).values():
        first = cases[next(turns[cases[0].path]) % len(cases)]
        others = [each for each in cases if each is not first] if _can_matter(first) else []
        own = tier_of(first)
        if tier in (None, own):
            yield first
        if tier is None or tier == ("gate" if own == "test" else own):
            yield from others


def tier_of(item: pytest.Item) -> str:
    """Return the first tier that runs a test on some loop."""
    return next((tier for mark, tier in _MARKS.items() if item.get_closest_marker(mark)), "test")


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
