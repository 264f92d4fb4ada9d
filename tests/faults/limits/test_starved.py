"""Nothing to spare on the machine: the application goes on, records wait within their bounds, and go out in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.covering import each_cell
from faults.programs import run_app
from kit.sinks import sink_of
from swagent.signals import MIB

APP = Path(__file__).with_name("starved_app.py")
RECORDS = 3
# The most that all channels hold together, and the rest that there may be of the agent.
BOUND = (16 + 8 + 4 + 1) * MIB
FIXED = 12 * MIB


@pytest.mark.slow
@pytest.mark.timeout(300)
@each_cell("P08", backend_name="backend")
def test_a_machine_with_nothing_to_spare(transport: str, backend: str) -> None:
    with sink_of(transport) as sink:
        # by a name, which takes a thread to look up
        environ = {name: value.replace("127.0.0.1", "localhost") for name, value in sink.environ.items()}
        found, said = run_app(APP, backend, environ=environ)
    for lack in ("descriptors", "threads"):
        assert found[lack] == {"waiting": RECORDS, "recovered": True, "confirmed": RECORDS}, lack
    outage = found["outage"]
    assert outage["balanced"]
    assert {"segment", "log"} <= set(outage["full"])
    assert outage["held"] + 5 * MIB > BOUND * 0.8
    assert outage["held"] <= BOUND
    assert outage["grown"] <= BOUND + FIXED
    assert sink.ids.total() == len(sink.ids) == 2 * RECORDS
    assert "Traceback" not in said
