"""A run that is killed takes its processes with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

CHILD = """
import threading
from stress.soak.orphans import end_with_the_run
end_with_the_run()
print("up", flush=True)
threading.Event().wait()
"""
# its child keeps the output open: the output's end is the child's
RUN = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], env={{**os.environ, "SOAK_RUN": str(os.getpid())}},
                         start_new_session=True)
input()
"""


def test_a_killed_run_leaves_no_process_behind() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        run.kill()
        run.wait()
        assert run.stdout.read() == ""
