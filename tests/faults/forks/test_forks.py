"""Children of a process that reports: they keep still, or report as instances of their own; the parent goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faults.covering import each_cell
from kit.sinks import sink_of

APP = Path(__file__).with_name("forking_app.py")
# Together more than five hundred.
FORKS = 60
RECORDS = 3


@pytest.mark.slow
@pytest.mark.timeout(300)
@each_cell("P05", backend_name="backend")
def test_children_keep_still_or_report_for_themselves_and_the_parent_goes_on(transport: str, backend: str) -> None:
    with sink_of(transport) as sink:
        # -u: the lock of a buffered stderr is the interpreter's own, and no child would get it back
        command = [sys.executable, "-u", str(APP), backend, str(FORKS)]
        environ = {**os.environ, **sink.environ, "SW_AGENT_SHUTDOWN_TIMEOUT": "20"}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    print(done.stdout, done.stderr[-2000:])
    assert done.returncode == 0
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["codes"] == [0], "a child failed, or hung (-14)"
    assert found["ways"] == {"fork": 0, "spawn": 0, "forkserver": 0}
    assert found["inherited"] == 0, "a program that is started anew has none of our sockets"
    assert found["made"] == found["offered"] == found["confirmed"]
    children = dict.fromkeys(("forked", "inside", "fork", "spawn", "forkserver"), RECORDS)
    assert sink.instances.pop("home") > 0
    assert sink.instances == {"parent": found["made"], **children}
    assert max(sink.ids.values()) == 1
    for complaint in ("Traceback", "no report to", "Exception ignored"):
        assert complaint not in done.stderr
