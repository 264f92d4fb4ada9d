"""The records of one channel that are behind its queue: on the disk, and those that wait to be written. Pure.

    queue of the channel  <-  files, oldest first  <-  staged, in memory

A record that is staged comes to a file when the disk takes it, or straight into the queue when there is room and no
file is before it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import islice

from .files import SpillFile
from .folder import FILE_BYTES
from .records import Record

STAGED_BYTES = 4 * FILE_BYTES
"""So many bytes wait in memory to be written, at most."""


_WRITTEN = 512
"""So many records are written at once, at most: they are looked at under the lock."""


class Backlog:
    """Its owner, the channel, changes it under its lock.

    :ivar count: how many records are here
    :ivar staged: in memory, behind all files
    :ivar files: with records that are not leased
    :ivar read: whose records are leased, and not all have their verdict
    :ivar done: names of files that can be removed
    """

    def __init__(self) -> None:
        self.count = 0
        self.staged: deque[Record] = deque()
        self.staged_bytes = 0
        self.files: deque[SpillFile] = deque()
        self.read: list[SpillFile] = []
        self.done: list[str] = []
        self._is_open = False  # whether the last of the files takes more

    def has_room(self, size: int) -> bool:
        """Whether a record of so many bytes can be staged."""
        return self.staged_bytes + size <= STAGED_BYTES

    @property
    def oldest_number(self) -> float:
        """A number that no record here is below."""
        # files of dead processes have come in between
        numbers = [each.next_number for each in self.files]
        return min(*numbers, self.staged[0].number if self.staged else math.inf, math.inf)

    def open_file(self) -> SpillFile | None:
        """The file that is written to, if it has room for the next record."""
        if self.files and self._is_open and self.files[-1].fitting([self.staged[0]]):
            return self.files[-1]
        return None

    def close_last(self) -> None:
        """The last of the files takes nothing more."""
        self._is_open = False

    def oldest_staged(self, most: int) -> list[Record]:
        """So many of the records in memory, at most."""
        # by their places: a nested offer between the making of an iterator and its use would end that with an error
        return [self.staged[at] for at in range(min(len(self.staged), most))]

    def next_staged(self, file: SpillFile) -> list[Record]:
        """The records to append to a file, as many as it has room for. They stay staged until they are written."""
        records = self.oldest_staged(_WRITTEN)
        return records[: file.fitting(records)]

    def note_written(self, file: SpillFile, records: Sequence[Record], size: int) -> None:
        """These records are in a file now, and the file has so many bytes more."""
        self.drop_staged(len(records))
        if file.count:
            file.numbers = range(file.numbers.start, records[-1].number + 1)
        else:
            file.numbers = range(records[0].number, records[-1].number + 1)
            self.files.append(file)
            self._is_open = True
        file.count += len(records)
        file.size += size

    def drop_staged(self, count: int) -> None:
        """Let go of the oldest that are staged."""
        for _ in range(count):
            size = len(self.staged.popleft().payload)
            self.staged_bytes -= size

    def take_in(self, file: SpillFile) -> None:
        """A file of another process is the last one now."""
        self.files.append(file)
        self._is_open = False
        self.count += file.count - file.leased
        if file.is_read:
            self.files.pop()
            self.done.append(file.name)

    def note_leased(self, file: SpillFile, count: int, position: int) -> None:
        """The next records of the first file are leased."""
        file.leased += count
        file.position = position
        if file.is_read:
            self.close_first()

    def close_first(self) -> SpillFile:
        """The first file has nothing more."""
        file = self.files.popleft()
        self._is_open = self._is_open and bool(self.files)
        self.read.append(file)
        self._remove_settled()
        return file

    def settle(self, numbers: range) -> None:
        """Records with these numbers have their verdict: of any file, or of none."""
        for file in (*self.read, *islice(self.files, 1)):
            first, last = max(numbers.start, file.numbers.start), min(numbers.stop, file.numbers.stop)
            file.settled += max(0, last - first)
        self._remove_settled()

    def _remove_settled(self) -> None:
        self.done += [each.name for each in self.read if each.settled >= each.leased]
        self.read = [each for each in self.read if each.settled < each.leased]
