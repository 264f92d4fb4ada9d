"""A FastAPI application under the official Python agent."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from official.environment import official_python

_APP = Path(__file__).parent / "official_app.py"


@contextmanager
def official_app(protocol: str, address: str, port: int) -> Iterator[None]:
    """The application, on a port, reporting to an address; it is up at some time within the block."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SW_"))}
    environ |= {"PROTOCOL": protocol, "BACKEND": address, "PORT": str(port), "NO_PROXY": "*"}
    # read when the agent is imported, before it can be set otherwise
    environ |= {"SW_AGENT_METER_REPORTER_PERIOD": "1", "SW_AGENT_COLLECTOR_HEARTBEAT_PERIOD": "1"}
    process = subprocess.Popen(
        [str(official_python()), str(_APP)], env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "up\n", "the application did not start"
        yield
    finally:
        process.kill()
        process.stdout.close()
        process.wait(10)
