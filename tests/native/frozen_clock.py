"""A clock for whole processes that moves only by `advance`: Python and C read the same time.

It takes the place of libc's by LD_PRELOAD, so it needs Linux, and a C compiler when it is built.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

_SOURCE = Path(__file__).with_suffix(".c")


def can_build() -> bool:
    """Whether this machine can build it."""
    return os.uname().sysname == "Linux" and shutil.which("cc") is not None


def build(folder: Path) -> Path:
    """Build it; returns the library, for LD_PRELOAD."""
    library = folder / "frozen_clock.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(_SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def find_advance() -> Callable[[int], object]:
    """The function that moves the clock of this process, by nanoseconds.

    :raises AttributeError: where the clock was not loaded
    """
    advance = ctypes.CDLL(None).frozen_clock_advance
    advance.argtypes, advance.restype = [ctypes.c_longlong], None
    return advance
