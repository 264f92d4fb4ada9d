"""Environments of their own for what is measured and not installed here, made by pip and kept by what they hold."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "stress"
_DONE = "complete"


class SetupError(Exception):
    """An environment could not be made; the text quotes pip."""


def name_of(purpose: str, requirements: Sequence[str], version: str = sys.version) -> str:
    """The folder's name: another one for each set of requirements and each Python.

    Where our own tree is among them, what that asks for counts as well.
    """
    own = (ROOT / "pyproject.toml").read_bytes() if "-e" in requirements else b""
    text = "\n".join([version, *sorted(requirements)])
    return f"{purpose}-{hashlib.sha256(text.encode() + own).hexdigest()[:12]}"


@functools.cache
def version_of(python: str) -> str:
    """`sys.version` of an interpreter.

    :raises SetupError: it is none
    """
    if python == sys.executable:
        return sys.version
    try:
        return subprocess.run(
            [python, "-c", "import sys; print(sys.version)"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f"{python} is no interpreter that runs here: {error}") from error


def python_with(
    purpose: str, requirements: Sequence[str], cache: Path = CACHE, interpreter: str = sys.executable
) -> Path:
    """The Python of an environment that holds the requirements; made when it is not there.

    :param interpreter: the environment is made of this one
    :raises SetupError: when pip cannot install them
    """
    folder = cache.absolute() / name_of(purpose, requirements, version_of(interpreter))
    python = folder / "bin" / "python"
    if not (folder / _DONE).exists():
        print(f"setting up the environment {purpose}", file=sys.stderr, flush=True)
        _create(folder, interpreter)
        _install(python, requirements)
        # only now: one that was interrupted is made again
        (folder / _DONE).write_text("\n".join(requirements))
    return python


def _create(folder: Path, interpreter: str) -> None:
    if interpreter == sys.executable:
        venv.create(folder, with_pip=False, symlinks=True, clear=True)
        return
    command = [interpreter, "-m", "venv", "--without-pip", "--symlinks", "--clear", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(f"{interpreter} could not make an environment:\n{done.stderr[-2000:]}")


def _install(python: Path, requirements: Sequence[str]) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check", "install"]
    done = subprocess.run([*pip, *requirements], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(f"pip could not install {' '.join(requirements)}:\n{done.stderr[-2000:]}")


def without_settings() -> dict[str, str]:
    """The variables of a process that is measured: this one's, without those of an agent or of Python."""
    return {name: text for name, text in os.environ.items() if not name.startswith(("SW_", "OTEL_", "PYTHON"))}


def with_this_code() -> dict[str, str]:
    """The variables of a process that is to import the packages of this repository, which are not installed there."""
    roots = [ROOT, ROOT / "transports", ROOT / "proto_gen", ROOT / "tests"]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots))}
