"""The same program under both agents: what arrives is equal field by field, but for the differences that are listed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kit.real.ports import free_ports
from kit.servers import collector_thread
from swagent.collector.server import Collector

from .differences import DIFFERENCES
from .environment import official_python
from .programs import BEGIN, END, PROGRAMS
from .views import SegmentView, views_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),  # the first one makes an environment
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="the official agent's gRPC has no wheels for it"),
]

OURS = [sys.executable, "-m", "swagent", "run", "--compatibility", "official", "--", sys.executable]


def recorded(python: Sequence[str], name: str, port: int, folder: Path) -> list[SegmentView]:
    """The segments of a program."""
    variables = {
        "SW_AGENT_NAME": "shop",
        "SW_AGENT_INSTANCE_NAME": "shop-1",
        "SW_AGENT_LOG_REPORTER_ACTIVE": "false",
        "SW_AGENT_METER_REPORTER_ACTIVE": "false",
        "SW_AGENT_PROFILE_ACTIVE": "false",
    }
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("SW_", "PYTHON"))}
    with collector_thread(Collector()) as (collector, _):
        done = subprocess.run(
            [*python, "-c", BEGIN + PROGRAMS[name] + END, str(port)],
            env={**clean, **variables, "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return views_of(collector.store.segments, port)


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_agents_record_the_same(name: str, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    theirs = recorded([str(official_python())], name, port, tmp_path)
    assert theirs
    for change in DIFFERENCES.get(name, ()):
        changed = sorted(change(segment) for segment in theirs)
        assert changed != theirs, f"it makes no difference: {change.__doc__}"
        theirs = changed
    assert recorded(OURS, name, port, tmp_path) == theirs
