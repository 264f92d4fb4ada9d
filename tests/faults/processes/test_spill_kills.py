"""A program that has spilled is killed amid its deliveries; its next start sends what is on disk, and nothing twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from faults.covering import each_cell
from kit.sinks import Sink, sink_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
APP = Path(__file__).with_name("spilling_app.py")
TESTS = Path(__file__).parents[2]
RECORDS, ROOM, FREE = 300, 20, 60
SECONDS = 60.0


@each_cell("P10", backend_name="backend")
def test_killed_with_records_on_disk(transport: str, backend: str, tmp_path: Path) -> None:
    gate, noted = threading.Event(), threading.Condition()
    with sink_of(transport) as sink:

        def hold() -> None:
            with noted:
                noted.notify_all()
            if sum(sink.ids.values()) > FREE:
                gate.wait(SECONDS)

        sink.hold = hold
        try:
            with launched(backend, RECORDS, sink, tmp_path) as app:
                try:
                    assert app.stdout is not None
                    assert app.stdout.readline() == "spilled\n"
                    with noted:
                        assert noted.wait_for(lambda: sum(sink.ids.values()) > FREE, SECONDS)
                    assert list(tmp_path.glob("*/0*"))
                finally:
                    app.kill()
        finally:
            gate.set()
        with launched(backend, 0, sink, tmp_path) as app:
            said, _ = app.communicate(timeout=SECONDS)
        ledger = json.loads(said)
        deadline = time.monotonic() + SECONDS
        with noted:  # those that were under way at the kill may come last
            noted.wait_for(lambda: len(sink.ids) >= RECORDS - ROOM, max(0.0, deadline - time.monotonic()))
    print(ledger, len(sink.ids))
    assert set(sink.ids.values()) == {1}
    assert ledger["recovered"] == ledger["confirmed"] + ledger["dropped"]["ambiguous"]
    # what was in memory at the kill is lost, as without a spill
    assert len(sink.ids) >= RECORDS - ROOM
    assert ledger["confirmed"] >= RECORDS - FREE - 2 * ROOM
    assert list(tmp_path.iterdir()) == []


def launched(backend: str, count: int, sink: Sink, folder: Path) -> subprocess.Popen[str]:
    environ = {
        **os.environ, **sink.environ, "PYTHONPATH": str(TESTS), "SW_AGENT_SPILL": f"{folder},64MiB",
        "SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE": str(ROOM), "SW_AGENT_REQUEST_TIMEOUT": "4",
    }  # fmt: skip
    command = [sys.executable, str(APP), backend, str(count)]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
