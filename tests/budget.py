"""How much processor time the tests take: a budget for each, and sums at the end of a run.

A test that is not marked `gate`, `slow` or `e2e` may take 0.25 s of processor time of its own: mark it `gate`, or make
it faster. In CI a test fails that takes twice as much, since neighbours of a core can double what the same work takes.
Processor time counts, since a busy machine makes everything wait. It includes the processes that the test waited for,
and not the fixtures that tests share. The first test to import something pays for others, and may take longer.

A plugin and no part of a conftest.py, because the controller of pytest-xdist adds up what the workers measured.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from kit.tiers import tier_of

BUDGET = 0.25
TOLERANCE = 2
_KEY = "processor seconds"


def _spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Budget:
    """The measurements of a session or of one of its workers."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails
        self._began = self._shared = 0.0
        self._modules = 0
        self._taken: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        self._began, self._shared, self._modules = _spent(), 0.0, len(sys.modules)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        before = _spent()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared += _spent() - before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call":
            own = _spent() - self._began - self._shared
            report.user_properties.append((_KEY, own))
            is_spared = tier_of(item) != "test" or len(sys.modules) > self._modules
            if self._fails and report.passed and own > BUDGET * TOLERANCE and not is_spared:
                report.outcome = "failed"
                report.longrepr = (
                    f"{own:.2f} s of processor time are over {BUDGET} s: mark it `gate`, or make it faster"
                )
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for key, value in report.user_properties:
            if key == _KEY and isinstance(value, float):
                self._taken[report.nodeid] = value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._taken) < 100:
            return
        folders: Counter[str] = Counter()
        for name, seconds in self._taken.items():
            folders[name.split("/")[1]] += seconds  # type: ignore[assignment]
        terminalreporter.section("processor seconds")
        sums = "  ".join(f"{name} {seconds:.1f}" for name, seconds in folders.most_common())
        terminalreporter.write_line(f"{sum(folders.values()):.0f} s in all: {sums}")
        for name, seconds in Counter(self._taken).most_common(10):
            terminalreporter.write_line(f"{seconds:6.2f}  {name}")


def pytest_configure(config: pytest.Config) -> None:
    # the suites of the accelerator run whole in the gate, with the tests that every other run skips
    fails = bool(os.environ.get("CI")) and "SWAGENT_TESTS_NATIVE" not in os.environ
    config.pluginmanager.register(Budget(fails))
