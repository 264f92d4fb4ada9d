"""Cuts the bytes of a large message, so that they can be parsed piece by piece.

protobuf's runtime parses a message in one go, and keeps the interpreter meanwhile. But a run of a message's fields is a
message of the same kind as well. It holds the same as the whole between these two places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .wire_check import LENGTH, shapes_of, value_at, varint_at

SMALL = 8 * 1024
"""Bytes of a message that is parsed in one go."""
MAX_PARTS = 20_000
"""Fields in one span, meter, log line or other record. Texts may be long, but there is an end to their number."""
PIECE = 32 * 1024
"""Bytes of a piece, where its last field is not longer."""
_FIELDS = 500


class Field(NamedTuple):
    """A field's number and wire type, and where its value is."""

    number: int
    wire_type: int
    start: int
    end: int


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of a message, without those of the messages inside.

    :raises ValueError: when the bytes are no message
    """
    at, end = start, len(data) if end is None else end
    while at < end:
        key, at = varint_at(data, at)
        number, wire_type = key >> 3, key & 7
        if not number:
            raise ValueError("there is no field of number 0")
        begin, at = value_at(data, at, wire_type)
        yield Field(number, wire_type, begin, at)
    if at != end:
        raise ValueError("a value reaches beyond the end of its message")


def cut(data: bytes) -> Iterator[bytes]:
    """Pieces of a message, each of them short or of one field only.

    :raises ValueError: when the bytes are no message
    """
    if len(data) <= SMALL:
        yield data
        return
    low = count = 0
    for field in fields(data):
        count += 1
        if field.end - low >= PIECE or count >= _FIELDS:
            yield data[low : field.end]
            low, count = field.end, 0
    if low < len(data):
        yield data[low:]


def check_parts(data: bytes, descriptor: Any) -> None:
    """Count the fields of a record, and of the messages in it.

    :raises ValueError: when there are more than `MAX_PARTS`, or the bytes are no message
    """
    waiting = [(descriptor, 0, len(data))]
    count = 0
    while waiting:
        current, start, end = waiting.pop()
        shapes = shapes_of(current)
        for field in fields(data, start, end):
            count += 1
            if count > MAX_PARTS:
                raise ValueError(f"{descriptor.name} has more than {MAX_PARTS:,} parts")
            shape = shapes.get(field.number)
            if shape is not None and shape.message is not None and field.wire_type == LENGTH:
                waiting.append((shape.message, field.start, field.end))
