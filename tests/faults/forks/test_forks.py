"""Children of a process that reports: they keep still, or report as instances of their own; the parent goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.covering import each_cell
from faults.programs import run_app
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
        environ = {**sink.environ, "SW_AGENT_SHUTDOWN_TIMEOUT": "20"}
        found, said = run_app(APP, backend, str(FORKS), environ=environ, options=("-u",))
    assert found["codes"] == [0], "a child failed, or hung (-14)"
    assert found["ways"] == {"fork": 0, "spawn": 0, "forkserver": 0}
    assert found["inherited"] == 0, "a program that is started anew has none of our sockets"
    assert found["made"] == found["offered"] == found["confirmed"]
    children = dict.fromkeys(("forked", "inside", "fork", "spawn", "forkserver"), RECORDS)
    assert sink.instances.pop("home") > 0
    assert sink.instances == {"parent": found["made"], **children}
    assert max(sink.ids.values()) == 1
    for complaint in ("Traceback", "no report to", "Exception ignored"):
        assert complaint not in said
