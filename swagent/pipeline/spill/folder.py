"""The folders of a spill: one a process, below the path that the user has set.

A process holds an exclusive lock on its folder as long as it lives, and the system lets go of it at its death, however
that comes. So a folder whose lock can be had belongs to a dead process. Of several processes that start at once only
one gets it. The new owner moves the files into its own folder, one by one: a file is in one folder or the other. It
keeps its name, which begins with the folder that it was made in. So the order of the names is that of the files, also
when a process dies amid this and the files of one folder are in two.

The bound holds for the path as a whole, and so for all processes together: each file counts with the most bytes that
it may have.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ...signals import SPILLED_AGE
from .records import HEAD_BYTES

FILE_BYTES = 1 << 20
"""A file takes no more than this."""
_NAME = re.compile(r"[0-9]{20}-[0-9]+")
_FILE_NAME = re.compile(rf"{_NAME.pattern}-[0-9]+")
_LOCK = "lock"
_TRIES = 10
_DAY = 86400.0
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_sync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class Disk(Protocol):
    """Where the files are. Each method may block, and raises OSError. One caller at a time."""

    def create(self, head: bytes) -> str | None:
        """Make a file, and return its name. None: there is no room for one more."""
        ...

    def write(self, name: str, at: int, data: bytes, *, sync: bool = False) -> None:
        """Write into a file.

        :param at: the place of the first byte
        :param sync: return when it has reached the disk, not just the system
        """
        ...

    def read(self, name: str, at: int, size: int) -> bytes:
        """What stands in a file, and fewer bytes where it ends."""
        ...

    def truncate(self, name: str, size: int) -> None:
        """Cut a file."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file. One that is not there is no error."""
        ...

    def take_over(self, is_usable: Callable[[bytes], bool], note: Callable[[OSError], object]) -> list[str]:
        """Take the files of dead processes, oldest first.

        :param is_usable: whether a file is wanted, by its first bytes; others stay where they are
        :param note: called with what goes wrong with one folder; the others are taken
        """
        ...

    def close(self) -> None:
        """Let go of what is left: another process may take it."""
        ...

    def after_fork_in_child(self) -> None:
        """In a forked child: all of it is the parent's."""
        ...


class Folder:
    """The folder of this process."""

    def __init__(self, path: Path, limit: int) -> None:
        """
        :param limit: bytes that all files below the path may take
        :raises OSError: it cannot be made, or not be locked
        """
        path.mkdir(0o700, parents=True, exist_ok=True)
        self._path = path
        self._most_files = limit // FILE_BYTES
        self._made = 0
        self._naming = threading.RLock()
        self.own, self._lock = _make_own(path)

    def create(self, head: bytes) -> str | None:
        """As `Disk.create`."""
        name = self._next_name()
        try:
            file = self._open_new(name)
        except FileNotFoundError:
            self._make_anew()
            file = self._open_new(name)
        try:
            # counted behind the creation: of two processes that take the last room, neither is one too many
            if sum(map(_count, self._folders())) <= self._most_files:
                _write(file, head, 0)
                return name
        except BaseException:
            self.remove(name)
            raise
        finally:
            os.close(file)
        self.remove(name)
        return None

    def write(self, name: str, at: int, data: bytes, *, sync: bool = False) -> None:
        """As `Disk.write`."""
        file = os.open(self.own / name, os.O_WRONLY | _FLAGS)
        try:
            _write(file, data, at)
            if sync:
                _sync(file)
        finally:
            os.close(file)

    def read(self, name: str, at: int, size: int) -> bytes:
        """As `Disk.read`."""
        return _read(self.own / name, at, size)

    def truncate(self, name: str, size: int) -> None:
        """As `Disk.truncate`."""
        file = os.open(self.own / name, os.O_WRONLY | _FLAGS)  # `os.truncate` follows links
        try:
            os.ftruncate(file, size)
        finally:
            os.close(file)

    def remove(self, name: str) -> None:
        """As `Disk.remove`."""
        (self.own / name).unlink(missing_ok=True)

    def take_over(self, is_usable: Callable[[bytes], bool], note: Callable[[OSError], object]) -> list[str]:
        """As `Disk.take_over`."""
        names: list[str] = []
        for folder in sorted(self._folders()):
            try:
                if folder != self.own:
                    # what is taken before an error is ours
                    for name in self._take(folder, is_usable):
                        names.append(name)  # noqa: PERF402
            except OSError as error:
                note(error)
        return sorted(names)

    def close(self) -> None:
        """As `Disk.close`."""
        with suppress(OSError):
            if os.listdir(self.own) == [_LOCK]:
                _remove(self.own)
        os.close(self._lock)

    def after_fork_in_child(self) -> None:
        """As `Disk.after_fork_in_child`. The lock is held as long as the parent lives."""
        os.close(self._lock)

    def _open_new(self, name: str) -> int:
        return os.open(self.own / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)

    def _make_anew(self) -> None:
        """Make a folder in place of the own one, which was deleted."""
        self._path.mkdir(0o700, parents=True, exist_ok=True)
        former = self._lock
        self.own, self._lock = _make_own(self._path)
        os.close(former)

    def _next_name(self) -> str:
        # a call that was given up may still be at it
        with self._naming:
            self._made += 1
            return f"{self.own.name}-{self._made:08}"

    def _folders(self) -> Iterator[Path]:
        # in a folder that others may write to, theirs are none of ours
        for each in os.scandir(self._path):
            if _NAME.fullmatch(each.name) and each.is_dir(follow_symlinks=False) and _is_ours(each):
                yield Path(each.path)

    def _take(self, folder: Path, is_usable: Callable[[bytes], bool]) -> Iterator[str]:
        lock = _lock(folder)
        if lock is None:
            return
        try:
            files = sorted(each for each in folder.iterdir() if each.name != _LOCK)
            left, problem = len(files), None
            for each in files:
                try:
                    # nothing of the last hour is in it: an agent that could use it would drop all of it, too
                    is_old = time.time() - each.stat(follow_symlinks=False).st_mtime > SPILLED_AGE + _DAY
                    if is_old:
                        each.unlink()
                    elif is_usable(_read(each, 0, HEAD_BYTES)):
                        name = each.name if _FILE_NAME.fullmatch(each.name) else f"{folder.name}-{each.name}"
                        each.rename(self.own / name)
                        yield name
                    else:
                        continue
                    left -= 1
                except OSError as error:
                    problem = error
            if problem is not None:
                raise problem
            if not left:
                _remove(folder)
        finally:
            os.close(lock)


def _make_own(path: Path) -> tuple[Path, int]:
    for _ in range(_TRIES):
        own = path / f"{time.time_ns():020}-{os.getpid()}"
        own.mkdir(0o700)
        lock = _lock(own)
        if lock is not None:
            return own, lock
        # another process took the folder before it was locked, and removes it
    raise BlockingIOError(f"{path} cannot be locked")


def _lock(folder: Path) -> int | None:
    """The descriptor of a lock that is ours now; None: another process has it."""
    import fcntl  # noqa: PLC0415, RUF100  (not on Windows)

    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink:
            return lock
    except BlockingIOError:
        pass
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _remove(folder: Path) -> None:
    (folder / _LOCK).unlink()
    # another process may look whether the folder is locked just now, and removes it then
    with suppress(OSError):
        folder.rmdir()


def _count(folder: Path) -> int:
    with suppress(FileNotFoundError):  # another process ends, or takes it over
        return sum(1 for each in os.listdir(folder) if each != _LOCK)
    return 0


def _is_ours(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    return False


def _read(path: Path, at: int, size: int) -> bytes:
    file = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        return os.pread(file, size, at)
    finally:
        os.close(file)


def _write(file: int, data: bytes, at: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(file, data[written:], at + written)
