"""Environments of their own for what is measured and not installed here, cached by what they hold."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(".cache/stress")
_DONE = "complete"


def name_of(purpose: str, requirements: Sequence[str]) -> str:
    """The folder's name: another one for each set of requirements and each Python."""
    text = "\n".join([sys.version, *sorted(requirements)])
    return f"{purpose}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def python_with(purpose: str, requirements: Sequence[str], cache: Path = CACHE) -> Path:
    """The Python of an environment that holds the requirements; made when it is not there.

    :raises subprocess.CalledProcessError: when pip cannot install them
    """
    folder = cache.absolute() / name_of(purpose, requirements)
    python = folder / "bin" / "python"
    if not (folder / _DONE).exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        subprocess.run(command, check=True)
        # only now: one that was interrupted is made again
        (folder / _DONE).write_text("\n".join(requirements))
    return python


def with_this_code() -> dict[str, str]:
    """The variables of a process that is to import the packages of this repository, which are not installed there."""
    root = Path(__file__).resolve().parents[1]
    roots = [root, root / "transports", root / "proto_gen", root / "tests"]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots))}
