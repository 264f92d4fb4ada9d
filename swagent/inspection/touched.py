"""A name of another library that is looked at although it is no part of its interface."""

from __future__ import annotations

import sys
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from types import FrameType
from typing import Any, NamedTuple

from ..thread_frames import read
from .known_versions import fits

Place = tuple[str, str]
"""A module, and the name of a function as its frames have it."""


class Library:
    """A library, and the versions of it that were looked at."""

    def __init__(self, distribution: str, versions: str) -> None:
        """
        :param distribution: as it is installed; "python": the standard library
        :param versions: as requirements have them, such as `>=4.10,<5`
        """
        self.distribution = distribution
        self.versions = versions

    @cached_property
    def is_known(self) -> bool:
        """Whether the installed version is one of them. Asked for when a name of the library is met first."""
        if self.distribution == "python":
            return fits(".".join(map(str, sys.version_info[:3])), self.versions)
        try:
            return fits(version(self.distribution), self.versions)
        except PackageNotFoundError:
            return False

    def __repr__(self) -> str:
        return f"{self.distribution}{self.versions}"


class Function(NamedTuple):
    """A function whose frame says something by being on the stack."""

    library: Library
    module: str
    name: str
    """Qualified; `<locals>` is left out: `TaskGroup._spawn.task_done`."""
    lost: str
    """The fact that is not known any more where it is gone."""
    pythons: str = ">=3.10"
    """Where it is."""

    @property
    def place(self) -> Place:
        """Where a frame of it says that it is."""
        return self.module, self.name.rpartition(".")[2]


class Local(NamedTuple):
    """A local variable of such a function."""

    function: Function
    name: str

    @property
    def place(self) -> Place:
        """As of its function."""
        return self.function.place

    def of(self, frame: FrameType, default: Any = None) -> Any:
        """Its value in a frame of the function."""
        return read(frame, "f_locals").get(self.name, default) if self.function.library.is_known else default


class Attribute(NamedTuple):
    """An attribute of a class."""

    library: Library
    owner: str
    """Its module and the class: `trio._core._run:Task`."""
    name: str
    lost: str
    pythons: str = ">=3.10"
    versions: str = ""
    """Of the library, where it is not there in all that were looked at."""

    def of(self, thing: Any, default: Any = None) -> Any:
        """Its value, where the object has it."""
        return getattr(thing, self.name, default) if self.library.is_known else default
