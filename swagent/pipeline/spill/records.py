"""How records stand in the files of a spill. Pure: bytes in, bytes out.

Theory of operation
-------------------
A file is a head, and behind it records in the order in which they were offered, of one signal and one codec. The head
ends with two *marks*: how many of the records are leased, and how many of these have a verdict. Records are only ever
appended. The marks are written over, eight bytes in place, so that a lease needs no room on a disk that is full.

Records are *leased* before any of them is sent: the mark is on the disk first. So after a crash no record is sent
twice. One that is leased and has no verdict may have been taken by the collector or not: its fate is ambiguous.

A crash may leave the last record torn, or with zeros in its place. Each record has its length and a checksum of all
that belongs to it, so reading stops in front of it. What stands behind it cannot be found, and is cut with it.

All numbers are little-endian:

    head    magic 8, signal 8, codec 8, epoch f64, leased u32, settled u32
    record  checksum u32, length u32, number u64, time f64, payload

A time is by the clock of the process that wrote it. The epoch is what has to be added for seconds since 1970.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

MAGIC = b"swspill1"
_HEAD = struct.Struct("<8s8s8sdII")
_MARKS = struct.Struct("<II")
_RECORD = struct.Struct("<IIQd")
_CHECKED = struct.Struct("<IQd")
HEAD_BYTES = _HEAD.size
MARKS_AT = HEAD_BYTES - _MARKS.size
RECORD_BYTES = _RECORD.size


class Head(NamedTuple):
    """The head of a file."""

    signal: str
    codec: str
    epoch: float
    """Seconds that make a time of the records one since 1970."""
    leased: int = 0
    settled: int = 0


class Record(NamedTuple):
    """One record on its way to a file, or back."""

    payload: bytes
    at: float
    """When it was offered, in seconds by the clock of the process that wrote it."""
    number: int
    """Of all that its process offered. Another process gives it a number of its own."""


def write_head(head: Head) -> bytes:
    """The first bytes of a file."""
    signal, codec = head.signal.encode(), head.codec.encode()
    return _HEAD.pack(MAGIC, signal, codec, head.epoch, head.leased, head.settled)


def read_head(data: bytes) -> Head | None:
    """The head of a file; None: there is no whole one, or the file is none of ours."""
    if len(data) < HEAD_BYTES:
        return None
    magic, signal, codec, epoch, leased, settled = _HEAD.unpack_from(data)
    if magic != MAGIC or not math.isfinite(epoch):
        return None
    return Head(_text(signal), _text(codec), epoch, leased, settled)


def _text(name: bytes) -> str:
    return name.rstrip(b"\0").decode("ascii", "replace")


def write_marks(leased: int, settled: int) -> bytes:
    """What stands at `MARKS_AT`."""
    return _MARKS.pack(leased, settled)


def write_records(records: Iterable[Record]) -> bytes:
    """The bytes to append."""
    parts: list[bytes] = []
    for payload, at, number in records:
        parts += (_RECORD.pack(_checksum(payload, at, number), len(payload), number, at), payload)
    return b"".join(parts)


def read_records(data: bytes, most: float = math.inf, most_bytes: float = math.inf) -> tuple[list[Record], int]:
    """The first whole records, and how many bytes they take. Fewer than asked for: the rest is torn.

    :param most: how many of them, at most
    :param most_bytes: of their payloads; the first one always fits
    """
    records: list[Record] = []
    end, left, last = 0, most_bytes, -1
    while len(records) < most and len(data) - end >= RECORD_BYTES:
        checksum, length, number, at = _RECORD.unpack_from(data, end)
        first = end + RECORD_BYTES
        payload = data[first : first + length]
        if len(payload) < length or _checksum(payload, at, number) != checksum:
            break
        if number <= last:
            # left of a write that failed, behind one that came later
            break
        last = number
        left -= length
        if left < 0 and records:
            break
        records.append(Record(payload, at, number))
        end = first + length
    return records, end


def _checksum(payload: bytes, at: float, number: int) -> int:
    return crc32(payload, crc32(_CHECKED.pack(len(payload), number, at)))
