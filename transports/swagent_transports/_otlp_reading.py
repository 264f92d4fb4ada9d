"""Reads the records of SkyWalking's protocol, as the agent's own encoders write them. Pure.

A message may come in parts: a field that occurs twice is merged, which for messages means that their bytes follow one
another.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from ._retry_info import fields

_SIGNED = 2**63
_double = struct.Struct("<d").unpack

Message = Mapping[int, list[Any]]
"""The values of each field, by its number: numbers as integers, all else as bytes."""


def read(data: bytes) -> Message:
    """The fields of a message.

    :raises ValueError: when it cannot be read
    """
    found: dict[int, list[Any]] = {}
    try:
        for number, value in fields(data):
            held = found.get(number)
            if held is None:
                found[number] = [value]
            else:
                held.append(value)
    except IndexError:
        raise ValueError("a record is cut short") from None
    return found


def text(message: Message, number: int) -> str:
    """A text; empty where it is not set."""
    values = message.get(number)
    return values[-1].decode("utf-8", "replace") if values else ""


def integer(message: Message, number: int) -> int:
    """A signed number; 0 where it is not set."""
    values = message.get(number)
    if not values:
        return 0
    value: int = values[-1]
    return value if value < _SIGNED else value - 2 * _SIGNED


def double(message: Message, number: int) -> float:
    """A number of eight bytes; 0.0 where it is not set."""
    values = message.get(number)
    return float(_double(values[-1])[0]) if values else 0.0


def nested(message: Message, number: int) -> Message:
    """A message inside, with all of its parts; empty where it is not set."""
    values = message.get(number)
    return read(b"".join(values)) if values else {}


def pairs(encoded: Iterable[bytes]) -> list[tuple[str, str]]:
    """Keys and values."""
    return [(text(each, 1), text(each, 2)) for each in map(read, encoded)]
