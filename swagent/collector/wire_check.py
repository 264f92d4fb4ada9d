"""Whether bytes are a well-formed message of a given class.

betterproto reads what is not: it takes a field that is cut short for complete, drops a broken tail, and puts a
number into a field of text. A collector for development exists to show such mistakes, so each message is walked
first. Stricter than the format in one point: a known field with another wire type is an error here, not an unknown
field.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, cast, get_type_hints

import betterproto

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_WIRE_TYPES = {"string": _LENGTH, "bytes": _LENGTH, "message": _LENGTH, "map": _LENGTH, "double": _FIXED64}


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is known of a field: its wire type, and the class of the messages in it."""

    wire_type: int
    message: type[betterproto.Message] | None


def check(data: bytes, message: type[betterproto.Message]) -> None:
    """Walk through a message, and through those inside it.

    :raises ValueError: when the bytes are not a well-formed message of this class
    """
    shapes, at = _shapes(message), 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        start, at = _value(data, at, wire_type)
        shape = shapes.get(number)
        if not number or (shape is not None and shape.wire_type != wire_type):
            raise ValueError(f"field {number} of {message.__name__} has wire type {wire_type}")
        if shape is not None and shape.message is not None:
            check(data[start:at], shape.message)


def _value(data: bytes, at: int, wire_type: int) -> tuple[int, int]:
    """Where a field's value starts and where it ends."""
    if wire_type == _VARINT:
        return at, _varint(data, at)[1]
    if wire_type == _LENGTH:
        size, at = _varint(data, at)
    elif wire_type in _FIXED_SIZES:
        size = _FIXED_SIZES[wire_type]
    else:
        raise ValueError(f"wire type {wire_type} is not in use")
    if at + size > len(data):
        raise ValueError(f"a value of {size} bytes is cut short after {len(data) - at}")
    return at, at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number is cut short")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number is longer than ten bytes")


@cache
def _shapes(message: type[betterproto.Message]) -> dict[int, Shape]:
    hints = get_type_hints(message)
    metadata: Any = betterproto.FieldMetadata
    fields: Any = dataclasses.fields(cast("Any", message))
    shapes: dict[int, Shape] = {}
    for field in fields:
        meta = metadata.get(field)
        inner = _inner(hints[field.name]) if meta.proto_type == "message" else None
        shapes[meta.number] = Shape(_WIRE_TYPES.get(meta.proto_type, _VARINT), inner)
    return shapes


def _inner(hint: Any) -> type[betterproto.Message]:
    """The message class in `X` or `List[X]`."""
    inner: type[betterproto.Message] = next(iter(getattr(hint, "__args__", (hint,))))
    return inner
