"""A process of its own for each implementation."""

from __future__ import annotations

import subprocess
import sys

from native.comparison import REPOSITORY, environ_of


def run_by(native: str, *arguments: str, **environ: str) -> str:
    """Run this Python on some arguments; returns what it printed.

    :param native: the setting
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**environ_of(native), **environ},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
