"""Written by hand: how one field becomes protobuf bytes. `wire` puts each message's fields together.

The caches are made once per field, with its tag worked out, and are then only looked up. As proto3
wants it, a field that holds its default takes no bytes, except within a repeated field.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from swagent_proto.cache import BoundedCache, PairCache, TextCache, check_bits
from swagent_proto.text import clean

_VARINT, _LENGTH = 0, 2  # wire types
_pack_double = struct.Struct("<d").pack
_pack_fixed64, _pack_fixed32 = struct.Struct("<Q").pack, struct.Struct("<I").pack
_ZERO = _pack_double(0.0)


def varint(value: int) -> bytes:
    """Base 128, lowest group first. Negative numbers count as 64 bits: ten bytes."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)


class Number:
    """An int32, int64 or enum field: enums are open, so that any int32 is one."""

    def __init__(self, number: int, name: str, bits: int) -> None:
        self._tag, self._name, self._bits = varint(number << 3 | _VARINT), name, bits

    def encode(self, value: int) -> bytes:
        check_bits(value, self._bits, self._name)
        return self._tag + varint(value) if value else b""


class Flag:
    """A bool field."""

    def __init__(self, number: int) -> None:
        self._set = varint(number << 3 | _VARINT) + b"\x01"

    def encode(self, value: int) -> bytes:
        return self._set if value else b""


class Numbers(BoundedCache[int, bytes]):
    """One field's values. Times belong here too: many records fall into one millisecond."""

    __slots__ = ("_field",)

    def __init__(self, field: Number | Flag) -> None:
        self._field = field

    def encode(self, key: int) -> bytes:
        return self._field.encode(key)


class NumberGroups(BoundedCache[tuple[int, ...], bytes]):
    """Several neighbouring fields at once, whose combinations repeat."""

    __slots__ = ("_fields",)

    def __init__(self, *fields: Number | Flag) -> None:
        self._fields = fields

    def encode(self, key: tuple[int, ...]) -> bytes:
        return b"".join([field.encode(value) for field, value in zip(self._fields, key, strict=True)])


class Heads(BoundedCache[int, bytes]):
    """Length of a body -> the tag and the length that go before it."""

    __slots__ = ("_tag",)

    def __init__(self, number: int) -> None:
        self._tag = varint(number << 3 | _LENGTH)

    def encode(self, key: int) -> bytes:
        return self._tag + varint(key)


def unique_text(heads: Heads, value: str) -> bytes:
    """A string that hardly ever repeats, as ids do: it must not push the names out of a cache."""
    body = value.encode() if value.isprintable() else clean(value).encode()
    return heads[len(body)] + body if body else b""


def double(tag: bytes, value: float) -> bytes:
    # Compared as bytes: minus zero is not the default, and NaN equals nothing.
    packed = _pack_double(value)
    return tag + packed if packed != _ZERO else b""


def optional_double(tag: bytes, value: float | None) -> bytes:
    """Where a zero that is set differs from no value."""
    return b"" if value is None else tag + _pack_double(value)


def fixed64(tag: bytes, value: int) -> bytes:
    return tag + _pack_fixed64(value & 0xFFFF_FFFF_FFFF_FFFF) if value else b""


def optional_fixed64(tag: bytes, value: int | None) -> bytes:
    return b"" if value is None else tag + _pack_fixed64(value & 0xFFFF_FFFF_FFFF_FFFF)


def fixed32(tag: bytes, value: int) -> bytes:
    return tag + _pack_fixed32(value) if value else b""


def packed_double(heads: Heads, values: Sequence[float]) -> bytes:
    return heads[8 * len(values)] + struct.pack(f"<{len(values)}d", *values) if values else b""


def packed_fixed64(heads: Heads, values: Sequence[int]) -> bytes:
    return heads[8 * len(values)] + struct.pack(f"<{len(values)}Q", *values) if values else b""


def raw(heads: Heads, value: bytes) -> bytes:
    """A field of bytes."""
    return heads[len(value)] + value if value else b""


def nested(heads: Heads, body: bytes | None) -> bytes:
    """A message field. None: not set; empty: set, with every field at its default."""
    return heads[len(body)] + body if body is not None else b""


def nested_each(heads: Heads, bodies: Iterable[bytes]) -> list[bytes]:
    return [heads[len(body)] + body for body in bodies]


class Texts(TextCache[bytes]):
    """A string that repeats from record to record."""

    __slots__ = ("_heads",)

    def __init__(self, number: int) -> None:
        self._heads = Heads(number)

    def encode(self, key: str) -> bytes:
        return unique_text(self._heads, key)


class RepeatedTexts(Texts):
    """The same within a repeated field, where the empty string counts too."""

    __slots__ = ()

    def encode(self, key: str) -> bytes:
        return nested(self._heads, clean(key).encode())


_KEY, _VALUE = Heads(1), Heads(2)


def pair(key: str, value: str) -> bytes:
    return unique_text(_KEY, key) + unique_text(_VALUE, value)


class Pairs(PairCache[bytes]):
    """A key and its value as one: tags repeat as pairs. The entries of a map have the same form."""

    __slots__ = ("_heads",)

    def __init__(self, number: int) -> None:
        self._heads = Heads(number)

    def encode(self, key: tuple[str, str]) -> bytes:
        return nested(self._heads, pair(*key))
