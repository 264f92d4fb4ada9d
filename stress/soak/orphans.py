"""No process of a run is left behind when the run itself is killed."""

from __future__ import annotations

import os
import signal
import threading
import time

PARENT = "SOAK_RUN"
"""The variable with the process id of the run."""
_PERIOD = 1.0


def end_with_the_run() -> None:
    """Kill this process and its group soon after the run has ended, whatever it ended of."""
    threading.Thread(target=_watch, args=(int(os.environ[PARENT]),), name="end-with-the-run", daemon=True).start()


def _watch(run: int) -> None:
    while True:
        try:
            os.kill(run, 0)
        except ProcessLookupError:
            os.killpg(0, signal.SIGKILL)
        time.sleep(_PERIOD)
