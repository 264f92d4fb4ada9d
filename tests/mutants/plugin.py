"""The part of the mutation runs that is inside pytest, copied into the environment of each work tree's copy.

`--report` has a line for each test that ran, `--chosen` names the tests to run, in that order. Where coverage.py
measures the process, each test is a context; processes that a test starts have theirs from PYTEST_CURRENT_TEST.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--report", type=Path, help="append the test, its seconds and whether it failed, in JSON lines")
    parser.addoption("--chosen", type=Path, help="run only the tests that this file names, a line each, in their order")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.report and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(config.option.report))


class _Report:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failed.add(report.nodeid)
        if report.when == "teardown":
            self._write(report.nodeid, self._seconds.pop(report.nodeid), report.nodeid in self._failed)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report.nodeid, 0.0, True)

    def _write(self, test: str, seconds: float, failed: bool) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            print(json.dumps({"test": test, "seconds": round(seconds, 4), "failed": failed}), file=file)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.chosen:
        names = config.option.chosen.read_text(encoding="utf-8").splitlines()
        place = {json.loads(name): at for at, name in enumerate(names)}
        chosen = sorted((each for each in items if each.nodeid in place), key=lambda each: place[each.nodeid])
        config.hook.pytest_deselected(items=[*{*items} - {*chosen}])
        items[:] = chosen


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if "COVERAGE_PROCESS_START" not in os.environ:
        return (yield)
    from coverage import Coverage

    measured = Coverage.current()
    assert measured is not None
    measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measured.switch_context("")
