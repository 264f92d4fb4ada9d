"""How long it takes to import swagent and one transport, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from .figures import median

MODULES = {"swagent": "swagent", **{name: f"swagent, swagent_transports.{name}" for name in ("grpc", "http", "kafka")}}
_PROGRAM = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"


def import_seconds(name: str, times: int = 5) -> float:
    """CPU seconds, the median of several processes after a first one that leaves the byte code behind.

    :param name: one of `MODULES`
    """
    _run(name)
    return median(_run(name) for _ in range(times))


def _run(name: str) -> float:
    command: Sequence[str] = [sys.executable, "-c", _PROGRAM.format(MODULES[name])]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
