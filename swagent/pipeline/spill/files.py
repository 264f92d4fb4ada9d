"""What is done with one file of a spill. Each function may block, and raises OSError; none knows a channel."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from .folder import FILE_BYTES, Disk
from .records import HEAD_BYTES, MARKS_AT, RECORD_BYTES, Head, Record, read_head, read_records, write_marks
from .records import write_records as to_bytes


@dataclass(eq=False)
class SpillFile:
    """What is known of a file. The loop's thread changes it, when a function below has returned.

    :ivar size: its bytes, without a torn end
    :ivar count: its records
    :ivar leased: how many of them, the oldest, are leased
    :ivar settled: how many of these have a verdict
    :ivar position: where the first one stands that is not leased
    :ivar numbers: from the first record's to the last one's, in this process; records of other files have none of these
    :ivar before: how many records were leased before this process had the file
    :ivar shift: what turns its times into those of this process; None: the file is its own
    """

    name: str
    size: int = HEAD_BYTES
    count: int = 0
    leased: int = 0
    settled: int = 0
    position: int = HEAD_BYTES
    numbers: range = range(0)
    before: int = 0
    shift: float | None = None

    @property
    def is_read(self) -> bool:
        """Whether each of its records is leased."""
        return self.leased >= self.count

    @property
    def next_number(self) -> int:
        """A number that no record of it that is not leased is below."""
        return self.numbers.start + self.leased - self.before

    def fitting(self, records: Sequence[Record]) -> int:
        """How many of these records it has room for."""
        left = FILE_BYTES - self.size
        for count, record in enumerate(records):
            left -= RECORD_BYTES + len(record.payload)
            if left < 0:
                return count
        return len(records)


@dataclass(frozen=True)
class Found:
    """A file of a dead process, as it was found.

    :ivar torn: bytes at its end that are no whole records
    """

    file: SpillFile
    head: Head
    torn: int


def append(disk: Disk, file: SpillFile, records: Sequence[Record]) -> int:
    """Append records, all or none. Returns how many bytes that are."""
    data = to_bytes(records)
    try:
        disk.write(file.name, file.size, data)
    except OSError:
        # a disk that is full has taken a part; what follows is written over it, or it is a torn end
        with suppress(OSError):
            disk.truncate(file.name, file.size)
        raise
    return len(data)


def lease(disk: Disk, file: SpillFile, most: int, most_bytes: int) -> tuple[list[Record], int]:
    """Take the next records of a file, and mark them as leased on the disk before they are returned.

    :returns: the records, and where the next one stands. No record: what is left of the file cannot be read.
    """
    data = disk.read(file.name, file.position, file.size - file.position)
    records, size = read_records(data, most, most_bytes)
    if records:
        disk.write(file.name, MARKS_AT, write_marks(file.leased + len(records), file.settled), sync=True)
    return records, file.position + size


def mark(disk: Disk, file: SpillFile) -> None:
    """Write down that each record that is leased has its verdict."""
    disk.write(file.name, MARKS_AT, write_marks(file.leased, file.leased))


def examine(disk: Disk, name: str) -> Found | None:
    """Look through a file of a dead process; None: there is no whole head."""
    data = disk.read(name, 0, FILE_BYTES)
    head = read_head(data)
    if head is None:
        return None
    records, size = read_records(data[HEAD_BYTES:])
    leased = min(head.leased, len(records))
    _, before = read_records(data[HEAD_BYTES:], leased)
    settled = min(head.settled, leased)
    file = SpillFile(name, HEAD_BYTES + size, len(records), leased, settled, HEAD_BYTES + before)
    return Found(file, head, len(data) - file.size)
