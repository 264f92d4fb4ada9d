"""The facts in `collected/` that a whole run of the tests did not see: they were lost.

`SWAGENT_TESTS_COLLECT` says what a session is for:

- `whole`: nothing may be lost. For a machine that has all servers and libraries, as CI's at night.
- `new`: a test may see less than the files know. For versions of the libraries that may have less than the newest.
- `write`: the files of the libraries that were seen are written anew. Run it where all their servers are.

A plugin and no part of a conftest.py: under xdist the workers run the tests, and the controller adds up their facts.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from instrument import collecting, modules

_NAME = "lost"
_FOUND = "swagent_found"


class Session:
    """The spans that a session, or one of its workers, saw: a plugin of its own."""

    def __init__(self) -> None:
        self.found: collecting.Collected = {}
        self._lost: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        ours = {path for path in modules.all_modules() if modules.collects(path)}
        for item in items:
            if item.path in ours:
                item.add_marker("collects")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist has ended: know what it knew."""
        collecting.merge(self.found, collecting.load(getattr(node, "workeroutput", {}).get(_FOUND, "{}")))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_FOUND] = collecting.dump(self.found)
        elif mode() == "write":
            collecting.write(self.found)
        elif mode() == "whole":
            self._lost = list(collecting.lost(self.found, collecting.read()))
            if self._lost and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lost:
            terminalreporter.section("lost", red=True)
            terminalreporter.write_line("No test of these libraries saw what tests/instrument/collected names:")
            terminalreporter.write_line("\n".join(self._lost))
            terminalreporter.write_line("If that is meant, `make libraries` writes the files anew.")


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
