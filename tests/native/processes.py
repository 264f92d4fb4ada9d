"""A process of its own for each implementation."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

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


def preloading(library: object) -> Mapping[str, str]:
    """The variable that loads a library first, after those that are loaded here."""
    return {"LD_PRELOAD": " ".join(filter(None, [os.environ.get("LD_PRELOAD", ""), str(library)]))}
