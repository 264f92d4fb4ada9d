"""A FastAPI application under the official Python agent, and the environment that it runs in.

The environment is made once and kept in the user's cache: the agent pins its own versions of what the tests need too.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PACKAGES = ("apache-skywalking==1.2.0", "grpcio==1.71.0", "fastapi==0.115.6", "uvicorn==0.34.0", "requests==2.32.3")
_APP = Path(__file__).parent / "official_app.py"


def environment() -> Path:
    """The Python of the environment."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swagent-tests"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache / f"official-agent-1.2.0-py{version}"
    python, ready = folder / "bin" / "python", folder / "ready"
    cache.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back by close
        if not ready.exists():
            _run(sys.executable, "-m", "venv", "--clear", str(folder))
            _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_PACKAGES)
            ready.touch()
    return python


@contextmanager
def official_app(protocol: str, address: str, port: int) -> Iterator[None]:
    """The application, on a port, reporting to an address; it is up at some time within the block."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SW_"))}
    environ |= {"PROTOCOL": protocol, "BACKEND": address, "PORT": str(port), "NO_PROXY": "*"}
    # read when the agent is imported, before it can be set otherwise
    environ |= {"SW_AGENT_METER_REPORTER_PERIOD": "1", "SW_AGENT_COLLECTOR_HEARTBEAT_PERIOD": "1"}
    process = subprocess.Popen(
        [str(environment()), str(_APP)], env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "up\n", "the application did not start"
        yield
    finally:
        process.kill()
        process.stdout.close()
        process.wait(10)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
