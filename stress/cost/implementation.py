"""Which implementation is counted: Python alone, or with the accelerator, which is built for that."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from ..environments import CACHE, ROOT, SetupError, version_of

PYTHON, ACCELERATOR = "off", "on"
CHOICES = {PYTHON: (PYTHON,), ACCELERATOR: (ACCELERATOR,), "both": (PYTHON, ACCELERATOR)}
TITLES = {PYTHON: "Python alone", ACCELERATOR: "With the accelerator"}
_SOURCES = ROOT / "swagent" / "native"


def build_accelerator(python: Path) -> Path:
    """The folder that has the accelerator of these sources; made when it is not there yet.

    :param python: the interpreter of the application's environment
    :raises SetupError: pip could not build it; quotes it
    """
    sources = [_SOURCES / "pyproject.toml", *sorted(_SOURCES.glob("src/*")), *sorted(_SOURCES.glob("*/*.py"))]
    text = b"".join([version_of(str(python)).encode(), *(path.read_bytes() for path in sources)])
    folder = CACHE.absolute() / f"accelerator-{hashlib.sha256(text).hexdigest()[:12]}"
    if not folder.exists():
        unfinished = folder.with_suffix(f".{os.getpid()}")
        command = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check",
                   "install", "--no-deps", "--target", str(unfinished), str(_SOURCES)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SetupError(f"pip could not build the accelerator:\n{done.stderr[-2000:]}")
        unfinished.replace(folder)
    return folder
