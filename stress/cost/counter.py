"""The library that is loaded before everything else, see `counting.c`: built by the one side, called by the other."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from ..environments import CACHE, SetupError

_SOURCE = Path(__file__).with_name("counting.c")
PLACE = "COUNTER"
"""The variable that says where the library is: valgrind puts its own beside it in `LD_PRELOAD`."""
NEEDED = {"valgrind": "valgrind", "gcc": "gcc libc6-dev"}
"""The commands that this takes, and the Debian packages that have them."""


class MissingToolsError(SetupError):
    """The tools that count are not installed here."""


def check_tools() -> None:
    """:raises MissingToolsError: a command is missing; says how to install it"""
    if missing := [command for command in NEEDED if shutil.which(command) is None]:
        packages = " ".join(NEEDED[command] for command in missing)
        raise MissingToolsError(f"needs {' and '.join(missing)}: apt-get install {packages}")


def refuse_without_tools(command: str) -> int | None:
    """Say on stderr which tools are missing.

    :param command: of `python -m stress`
    :returns: the status to end with: 2 in CI, which has to count, else 0; None where all tools are here
    """
    try:
        check_tools()
    except MissingToolsError as error:
        print(f"python -m stress {command} {error}", file=sys.stderr)
        return 2 if os.environ.get("CI") else 0
    return None


def build_counter(cache: Path = CACHE) -> Path:
    """The compiled library; made when it is not there yet.

    :raises SetupError: the compiler failed; quotes it
    """
    return build_library(_SOURCE, cache)


def build_library(source: Path, cache: Path = CACHE) -> Path:
    """The compiled library of a file in C that a process loads before everything else; made when it is not there yet.

    :raises SetupError: the compiler failed; quotes it
    """
    name = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    library = cache.absolute() / f"{source.stem}-{name}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        # under another name first: two that start at once do not read each other's half
        unfinished = library.with_suffix(f".{os.getpid()}")
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", str(unfinished), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SetupError(f"gcc could not build {source.name}:\n{done.stderr[-2000:]}")
        unfinished.replace(library)
    return library


class Counter:
    """Inside the process that is counted: its clock, and its requests to callgrind."""

    def __init__(self) -> None:
        library = ctypes.CDLL(os.environ[PLACE])
        library.cost_advance.argtypes = [ctypes.c_longlong]
        library.cost_advance.restype = None
        library.cost_dump.argtypes = [ctypes.c_char_p]
        self.advance = library.cost_advance
        """Let this many nanoseconds pass. Nothing else does, from the first call on."""
        self.begin = library.cost_begin
        self.end = library.cost_end
        self._dump = library.cost_dump

    def dump(self, name: str) -> None:
        """Let callgrind write down what was counted since it began or last wrote."""
        self._dump(name.encode())
