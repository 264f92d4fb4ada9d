"""Programs in processes of their own, which report to a sink of the test's and print what they found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """A program that has ended well: what it printed, as JSON, and what it said on stderr."""

    found: dict[str, Any]
    said: str


def run_app(app: Path, *arguments: str, environ: Mapping[str, str], options: tuple[str, ...] = ()) -> Ended:
    """Run one until its end.

    :param options: of the interpreter
    """
    command = [sys.executable, *options, str(app), *arguments]
    own = {**os.environ, **environ}
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=120, check=False)
    print(done.stdout, done.stderr[-2000:])
    assert done.returncode == 0, done.stderr
    return Ended(json.loads(done.stdout), done.stderr)
