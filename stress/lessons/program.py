"""A program of a lesson: a process whose last line is JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

_SECONDS = 120.0


def last_line_of(command: Sequence[str], environ: Mapping[str, str], seconds: float = _SECONDS) -> Any:
    """Run a program to its end, and read the last line that it prints.

    :param seconds: that it may take
    :raises subprocess.SubprocessError: it failed, or took longer
    """
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, timeout=seconds, check=True)
    return json.loads(done.stdout.splitlines()[-1])
