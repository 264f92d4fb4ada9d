"""Finalisers log, such as that of a task that was forgotten. They run in the middle of anything their thread does.

Before Python 3.12 that may be a call that sets a context variable, and the interpreter crashes when the finaliser sets
one too. In a process of its own, since that is how it fails.
"""

from __future__ import annotations

import subprocess
import sys

from faults.covering import covers

_PROGRAM = """
import contextvars, gc, logging
from swagent.record.logs.capture import LogCapture, LogSettings

entries = []
capture = LogCapture(entries.append, LogSettings())
capture.attach()
logger = logging.getLogger("app")
logger.addHandler(logging.NullHandler())
variables = [contextvars.ContextVar(f"variable {number}") for number in range(40)]


class Forgotten:
    def __init__(self):
        self.cycle = self

    def __del__(self):
        if len(entries) < 3000:
            logger.warning("forgotten")
            Forgotten()


Forgotten()
gc.set_threshold(3, 1, 1)
while len(entries) < 3000:
    Forgotten()  # the last one may have grown too old to be looked at soon
    for variable in variables:
        variable.set(object())
gc.set_threshold(700, 10, 10)
capture.detach()
"""


@covers("C06")
def test_a_finaliser_may_log_while_a_context_variable_is_set() -> None:
    for seed in range(3):
        command = [sys.executable, "-X", "faulthandler", "-c", _PROGRAM]
        finished = subprocess.run(
            command, env={"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, timeout=120
        )
        assert finished.returncode == 0, finished.stderr
