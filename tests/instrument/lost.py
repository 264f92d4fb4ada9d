"""The facts in `collected/` of a library that a whole run of its tests did not see: they were lost.

A run is whole for a library where every test of every module that shows it ran and passed in one session, see
`modules.of`. A choice by `-k`, `-m`, `::` or `--lf`, a skipped test and a run that ends early leave libraries out,
and the facts that these tests would have seen are believed. `SWAGENT_TESTS_COLLECT` says more:

- `whole`: every library is judged, and nothing is excused. For a machine that has all servers and libraries, as CI's.
- `new`: no library is judged. For versions of the libraries that may have less than the newest.
- `write`: the files are written anew, for the libraries for which the run was whole. The facts of others are added.

A plugin and no part of a conftest.py: under xdist the workers run the tests, and the controller adds up their facts.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from instrument import collecting, modules
from kit.tiers import choose

_NAME = "lost"
_FOUND, _WANTED = "swagent_found", "swagent_wanted"


class Session:
    """The tests that a session, or one of its workers, ran, and the spans that it saw: a plugin of its own."""

    def __init__(self) -> None:
        self.found: collecting.Collected = {}
        self._wanted: defaultdict[str, set[str]] = defaultdict(set)  # by the names of modules that were collected whole
        self._passed: set[str] = set()
        self._lost: list[str] = []

    def is_whole(self, library: str) -> bool:
        """Whether all tests of a library passed."""
        names = [path.name for path in modules.of(library)]
        return bool(names) and all(name in self._wanted and self._wanted[name] <= self._passed for name in names)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        ours = {path for path in modules.all_modules() if modules.collects(path)}
        mine = [item for item in items if item.path in ours]
        is_part = (
            config.getoption("tier") is not None
            or config.getoption("lf", default=False)
            or any("::" in each for each in config.args)
        )
        for item in mine:
            item.add_marker("collects")
        for item in () if is_part else choose(mine, None):
            self._wanted[item.path.name].add(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist has ended: know what it knew."""
        said = getattr(node, "workeroutput", {})
        collecting.merge(self.found, collecting.load(said.get(_FOUND, "{}")))
        for name, tests in said.get(_WANTED, {}).items():
            self._wanted[name] |= {*tests}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_FOUND] = collecting.dump(self.found)
            output[_WANTED] = {name: sorted(tests) for name, tests in self._wanted.items()}
        elif mode() == "write":
            self._write()
        elif mode() != "new":
            self._lost = list(self._judge())
            if self._lost and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lost:
            terminalreporter.section("lost", red=True)
            terminalreporter.write_line("No test of these libraries saw what tests/instrument/collected names:")
            terminalreporter.write_line("\n".join(self._lost))
            terminalreporter.write_line("If that is meant, `make libraries` writes the files anew.")

    def _judge(self) -> Iterator[str]:
        known = collecting.read()
        judged = [name for name in known if mode() == "whole" or self.is_whole(name)]
        return collecting.lost(self.found, {name: known[name] for name in judged})

    def _write(self) -> None:
        # the spans that a skipped test would have seen count as seen
        kept = {name: kinds for name, kinds in collecting.read().items() if not self.is_whole(name)}
        collecting.merge(kept, self.found)
        collecting.write(kept)


def mode() -> str:
    """The purpose of this session."""
    return os.environ.get("SWAGENT_TESTS_COLLECT", "")


def of(config: pytest.Config) -> Session:
    """The session's."""
    found: Any = config.pluginmanager.get_plugin(_NAME)
    assert isinstance(found, Session)
    return found


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Session(), _NAME)
