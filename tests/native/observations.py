"""The frames that one process writes and another reads: a kind, a note and bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_HEAD = struct.Struct("<cHI")
_LONGEST = 60_000


class Frame(NamedTuple):
    """One thing that was seen.

    :ivar kind: `b` a block of cases begins, `o` what an application saw, `s` and `l` a segment's and a log's bytes, `t`
        the ledger, `e` the end
    """

    kind: str
    note: str
    data: bytes = b""


def write(file: BinaryIO, frame: Frame) -> None:
    """Write one."""
    note = frame.note.encode("utf-8", "surrogatepass")[:_LONGEST]
    file.write(_HEAD.pack(frame.kind.encode(), len(note), len(frame.data)) + note + frame.data)


def read(file: BinaryIO) -> Iterator[Frame]:
    """All of them."""
    while head := file.read(_HEAD.size):
        kind, of_note, of_data = _HEAD.unpack(head)
        note = file.read(of_note).decode("utf-8", "replace")
        yield Frame(kind.decode(), note, file.read(of_data))
