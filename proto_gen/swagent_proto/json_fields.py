"""Written by hand: how one field becomes JSON text. `wire_json` puts each message's fields together.

A field ends with its comma, so that fields are simply joined; the message cuts the last one off. The
form is the canonical one of proto3: lowerCamelCase names, enums by name (by number where unknown),
64-bit numbers as strings, defaults left out. The text is ASCII: its length is its size in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quote  # in C where the interpreter has it

from swagent_proto.cache import BoundedCache, PairCache, TextCache, check_bits
from swagent_proto.text import clean


class Number:
    """An int32, int64 or enum field; `names` are an enum's, by number."""

    def __init__(self, start: str, name: str, bits: int, names: Mapping[int, str] | None = None) -> None:
        self._start, self._name, self._bits, self._names = start, name, bits, names or {}

    def encode(self, value: int) -> str:
        check_bits(value, self._bits, self._name)
        if not value:
            return ""
        if value in self._names:
            return f'{self._start}"{self._names[value]}",'
        return f'{self._start}"{value:d}",' if self._bits == 64 else f"{self._start}{value:d},"


class Flag:
    """A bool field."""

    def __init__(self, start: str) -> None:
        self._set = f"{start}true,"

    def encode(self, value: int) -> str:
        return self._set if value else ""


class Numbers(BoundedCache[int, str]):
    """One field's values. Times belong here too: many records fall into one millisecond."""

    __slots__ = ("_field",)

    def __init__(self, field: Number | Flag) -> None:
        self._field = field

    def encode(self, key: int) -> str:
        return self._field.encode(key)


class NumberGroups(BoundedCache[tuple[int, ...], str]):
    """Several neighbouring fields at once, whose combinations repeat."""

    __slots__ = ("_fields",)

    def __init__(self, *fields: Number | Flag) -> None:
        self._fields = fields

    def encode(self, key: tuple[int, ...]) -> str:
        return "".join([field.encode(value) for field, value in zip(self._fields, key, strict=True)])


def unique_text(start: str, value: str) -> str:
    """A string that hardly ever repeats, as ids do: it must not push the names out of a cache."""
    if not value:
        return ""
    return f"{start}{quote(value if value.isprintable() else clean(value))},"


def double(start: str, value: float) -> str:
    if value == 0 and math.copysign(1.0, value) > 0:
        return ""
    if math.isfinite(value):
        return f"{start}{float(value)!r},"
    return f'{start}"NaN",' if math.isnan(value) else f'{start}"{"-" if value < 0 else ""}Infinity",'


def nested(start: str, body: str | None) -> str:
    """A message field. None: not set; `{}`: set, with every field at its default."""
    return f"{start}{body}," if body is not None else ""


def string_map(start: str, entries: Mapping[str, str]) -> str:
    # Cleaned before they are joined: two keys may become one, and JSON readers refuse a key twice.
    cleaned = {quote(clean(key)): quote(clean(value)) for key, value in entries.items()}
    body = ",".join([f"{key}:{value}" for key, value in cleaned.items()])
    return f"{start}{{{body}}}," if body else ""


class Texts(TextCache[str]):
    """A string that repeats from record to record."""

    __slots__ = ("_start",)

    def __init__(self, start: str) -> None:
        self._start = start

    def encode(self, key: str) -> str:
        return unique_text(self._start, key)


class RepeatedTexts(TextCache[str]):
    """The same as an element of an array: bare, and the empty string counts too."""

    __slots__ = ()

    def encode(self, key: str) -> str:
        return quote(clean(key))


class Pairs(PairCache[str]):
    """A KeyStringValuePair as an element of an array: tags repeat as pairs."""

    __slots__ = ()

    def encode(self, key: tuple[str, str]) -> str:
        return pair(*key)


def pair(key: str, value: str) -> str:
    fields = unique_text('"key":', key) + unique_text('"value":', value)
    return f"{{{fields[:-1]}}}"
