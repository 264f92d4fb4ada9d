"""Where an interpreter is and how commands run there: on this machine, or in a bare root (`bare_root`)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".cache"


class UnavailableError(Exception):
    """A thing that is asked for cannot be had on this machine; the text says why."""


class Place(Protocol):
    """Paths are as commands see them there."""

    @property
    def repository(self) -> Path:
        """This repository; what is written there is seen from here too."""
        ...

    @property
    def folder(self) -> Path:
        """A folder for environments and copies, kept from run to run."""
        ...

    def outside(self, path: Path) -> Path:
        """A path below `folder`, as this process sees it."""
        ...

    def run(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
        """Run a command; what it says goes where ours goes. Returns its exit status.

        :param environ: variables on top of the place's own
        """
        ...


@dataclass(frozen=True)
class Interpreter:
    """One Python.

    :ivar version: as the README names it: `3.14`, `PyPy`
    :ivar command: what starts it there
    """

    version: str
    command: str
    place: Place


class Machine:
    """This machine."""

    repository, folder = REPOSITORY, CACHE

    def outside(self, path: Path) -> Path:
        return path

    def run(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
        return subprocess.run(command, cwd=folder, env={**os.environ, **environ}, check=False).returncode

    def find(self, version: str) -> Interpreter:
        """A Python from the path or from pyenv.

        :raises UnavailableError: when there is none
        """
        names = ("pypy3.11", "pypy3") if version == "PyPy" else (f"python{version}",)
        kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        pattern = "pypy3*/bin/python" if version == "PyPy" else f"{version}.*/bin/python"
        for each in (*filter(None, map(shutil.which, names)), *map(str, sorted(kept.glob(pattern)))):
            # a version manager's shim is on the path even where it leads nowhere
            if subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
                return Interpreter(version, each, self)
        raise UnavailableError(f"no {names[-1]} on this machine")
