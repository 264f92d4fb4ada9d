"""An environment of an interpreter, wherever that is, with the versions of `tests/pins.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interpreters.place import Interpreter

PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
# The second is for what builds; an older pip knows the first alone, and takes it there as well.
_PINNED = dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), "tests/pins.txt")


class CommandError(Exception):
    """A command failed; the text says which."""


def make_environment(python: Interpreter, folder: Path) -> Interpreter:
    """The Python of an environment, which is made if need be.

    :param folder: of the environment, as commands of the place see it
    :raises CommandError: when it cannot be made
    """
    run(python, "-m", "venv", str(folder))
    return Interpreter(python.version, str(folder / "bin" / "python"), python.place)


def install(python: Interpreter, *arguments: str) -> None:
    """Let pip install, as its arguments say.

    :raises CommandError: when it cannot
    """
    run(python, *PIP, "install", *arguments)


def run(python: Interpreter, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
    """Run the interpreter in the repository; what it says goes where ours goes.

    :param environ: variables on top of the place's own
    :raises CommandError: when its exit status is not 0
    """
    if python.place.run([python.command, *arguments], python.place.repository, {**_PINNED, **(environ or {})}) != 0:
        raise CommandError(f"{python.command} {' '.join(arguments)} failed")
