"""A disk in memory: it can be full, broken, and of a process that is killed at any byte."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from typing import Any

from swagent.pipeline.spill.records import HEAD_BYTES


class Killed(BaseException):
    """The process ends here."""


class MemoryDisk:
    """Folders of files, one folder a process. The folder of a process that was killed is taken over by the next one.

    A file that is taken over counts as one byte that is written: a process may die behind it.

    :ivar folders: their files by name; shared by all processes
    :ivar most_files: of all folders
    :ivar space: bytes that the disk still has
    :ivar left: how many bytes more are written before the process is killed; None: it lives
    :ivar broken: the operations that fail
    """

    def __init__(
        self, folders: list[dict[str, bytearray]] | None = None, most_files: int = 1000, life: int = 0
    ) -> None:
        self.life = life
        self.folders = [] if folders is None else folders
        self.dead = [*self.folders]
        self.own: dict[str, bytearray] = {}
        self.folders.append(self.own)
        self.most_files = most_files
        self.space = 1 << 40
        self.left: int | None = None
        self.broken: set[str] = set()
        self.made = 0

    def create(self, head: bytes) -> str | None:
        self._step("create")
        if sum(map(len, self.folders)) >= self.most_files:
            return None
        self.made += 1
        name = f"{self.life:08}-{self.made:08}"
        self.own[name] = bytearray()
        self._write(name, 0, head)
        return name

    def write(self, name: str, at: int, data: bytes, *, sync: bool = False) -> None:
        self._step("mark" if sync else "write")
        self._write(name, at, data)

    def read(self, name: str, at: int, size: int) -> bytes:
        self._step("read")
        return bytes(self.own[name][at : at + size])

    def truncate(self, name: str, size: int) -> None:
        self._step("truncate")
        del self.own[name][size:]

    def remove(self, name: str) -> None:
        self._step("remove")
        self.own.pop(name, None)

    def take_over(self, is_usable: Callable[[bytes], bool], note: Callable[[OSError], object]) -> list[str]:
        names: list[str] = []
        for folder in self.dead:
            for name, data in sorted(folder.items()):
                if is_usable(bytes(data[:HEAD_BYTES])):
                    self._spend()
                    names.append(name)
                    self.own[name] = folder.pop(name)
        self.dead = []
        return sorted(names)

    def close(self) -> None:
        if not self.own:
            self.folders.remove(self.own)

    def after_fork_in_child(self) -> None:
        raise NotImplementedError

    def after_death(self) -> MemoryDisk:
        """The disk as the next process finds it."""
        return MemoryDisk(self.folders, self.most_files, self.life + 1)

    def _step(self, what: str) -> None:
        if self.left is not None and self.left <= 0:
            raise Killed
        if what in self.broken:
            raise OSError(errno.EIO, "broken")

    def _spend(self) -> None:
        if self.left is not None:
            if self.left <= 0:
                raise Killed
            self.left -= 1

    def _write(self, name: str, at: int, data: bytes) -> None:
        for offset, byte in enumerate(data):
            self._spend()
            place, file = at + offset, self.own[name]
            if place < len(file):
                file[place] = byte
            elif self.space <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            else:
                self.space -= 1
                file.append(byte)


async def at_once(function: Callable[[], Any]) -> Any:
    """Call what would block."""
    return function()


def sizes(disk: MemoryDisk) -> Iterator[int]:
    """Of its files."""
    return (len(data) for folder in disk.folders for data in folder.values())
