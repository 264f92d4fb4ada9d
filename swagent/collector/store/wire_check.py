"""Whether bytes are a well-formed message of a given kind.

protobuf's runtime takes a known field with another wire type for an unknown field and drops it. A collector for
development exists to show such mistakes, so what holds unknown fields is walked here, and what does not parse too:
to say where.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

LENGTH = 2
"""The wire type of texts, bytes and messages."""
_VARINT, _FIXED64, _FIXED32 = 0, 1, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
# By the numbers of FieldDescriptor.type; those that are not named are varints.
_WIRE_TYPES = {
    1: _FIXED64,
    6: _FIXED64,
    16: _FIXED64,
    2: _FIXED32,
    7: _FIXED32,
    15: _FIXED32,
    9: LENGTH,
    11: LENGTH,
    12: LENGTH,
}
_DEPTH = 20


class Shape(NamedTuple):
    """A field: its wire type, the kind of the messages in it, whether it is text."""

    wire_type: int
    message: Any
    is_text: bool


def check(data: bytes, descriptor: Any, depth: int = 0) -> None:
    """Walk through a message, and through those inside it.

    :param descriptor: protobuf's description of the message
    :raises ValueError: when the bytes are not a well-formed message of this kind
    """
    if depth > _DEPTH:
        raise ValueError("messages are nested too deep")
    shapes, at = shapes_of(descriptor), 0
    while at < len(data):
        key, at = varint_at(data, at)
        number, wire_type = key >> 3, key & 7
        start, at = value_at(data, at, wire_type)
        shape = shapes.get(number)
        if not number or (shape is not None and shape.wire_type != wire_type):
            raise ValueError(f"field {number} of {descriptor.name} has wire type {wire_type}")
        if shape is not None and shape.message is not None:
            check(data[start:at], shape.message, depth + 1)
        elif shape is not None and shape.is_text:
            _check_text(data[start:at], f"field {number} of {descriptor.name}")


def _check_text(data: bytes, where: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} is not UTF-8") from error


def value_at(data: bytes, at: int, wire_type: int) -> tuple[int, int]:
    """Where a field's value starts and where it ends."""
    if wire_type == _VARINT:
        return at, varint_at(data, at)[1]
    if wire_type == LENGTH:
        size, at = varint_at(data, at)
    elif wire_type in _FIXED_SIZES:
        size = _FIXED_SIZES[wire_type]
    else:
        raise ValueError(f"wire type {wire_type} is not in use")
    if at + size > len(data):
        raise ValueError(f"a value of {size} bytes is cut short after {len(data) - at}")
    return at, at + size


def varint_at(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
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
def shapes_of(descriptor: Any) -> dict[int, Shape]:
    """The fields of a message, by their numbers."""
    return {
        field.number: Shape(_WIRE_TYPES.get(field.type, _VARINT), field.message_type, field.type == 9)
        for field in descriptor.fields
    }
