"""The command line, run as a user runs it: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.servers import collector_thread
from swagent.collector.server import Collector

Run = Callable[..., "subprocess.CompletedProcess[str]"]
_HERE = Path(__file__).parent
_SECONDS = 120  # a command starts several interpreters, each of which takes its time on a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # all of the session's, not only this folder's
        if _HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture
def swagent(tmp_path: Path) -> Run:
    """Runs `swagent ARGUMENTS` with these variables and no other `SW_` ones."""

    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SW_")}
        command = [sys.executable, "-m", "swagent", *arguments]
        return subprocess.run(
            command, env={**clean, **environ}, cwd=tmp_path, capture_output=True, text=True, timeout=_SECONDS
        )

    return run


@pytest.fixture
def collector() -> Iterator[Collector]:
    """An embedded collector in a thread, with the token `sesame`."""
    with collector_thread(Collector(token="sesame")) as (collector, _):
        yield collector
