"""Reads a list in JSON element by element.

The parser in C reads a text in one go, and does not let other threads run meanwhile. So a long list is cut into its
elements first: a look for quotes and brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from ..cancelling import stop_if_cancelled

MAX_ELEMENTS = 10_000
"""Of one list."""
MAX_ELEMENT = 1024 * 1024
"""Characters of one element; texts in it count as well."""
_BLANKS = " \t\r\n"
_DECODER = json.JSONDecoder()
_AT_ONCE = 32 * 1024
_OUTSIDE = re.compile(r'["{}\[\],]')
_INSIDE = re.compile(r'["\\]')


class TooLargeError(Exception):
    """The list has too many elements, or too long ones."""


def read(body: bytes) -> Any:
    """The value that a body holds.

    :raises ValueError: when it is no JSON
    :raises TooLargeError: when it has too much in it
    """
    if len(body) <= _AT_ONCE:
        value: Any = json.loads(body)
        if not isinstance(value, list):
            return value
        elements = cast("Sequence[Any]", value)
        if len(elements) > MAX_ELEMENTS:
            raise TooLargeError(f"a list of more than {MAX_ELEMENTS:,} elements")
        return elements
    text = body.decode().strip(_BLANKS)
    if not text.startswith("["):
        return json.loads(_bounded(text))
    return _read_list(text)


def read_object(body: bytes) -> Any:
    """The value that a body holds. If it is an object, the lists in it are read element by element.

    :raises ValueError: when it is no JSON
    :raises TooLargeError: when it has too much in it
    """
    text = body.decode().strip(_BLANKS)
    if not text.startswith("{"):
        return json.loads(_bounded(text))
    values: dict[str, Any] = {}
    for start, end in _elements(text):
        at = _after_blanks(text, start)
        key, at = _DECODER.raw_decode(text, at) if text[at] == '"' else ("", at)
        at = _after_blanks(text, at)
        if text[at] != ":":
            raise ValueError(f"a member of the object has no name: {text[start : min(end, start + 20)]!r}")
        value = text[_after_blanks(text, at + 1) : end].rstrip(_BLANKS)
        values[key] = _read_list(value) if value.startswith("[") else json.loads(_bounded(value))
        stop_if_cancelled()
    return values


def _after_blanks(text: str, at: int) -> int:
    while text[at] in _BLANKS:
        at += 1
    return at


def _read_list(text: str) -> list[Any]:
    values: list[Any] = []
    for start, end in _elements(text):
        values.append(json.loads(_bounded(text[start:end])))
        stop_if_cancelled()
    return values


def _bounded(text: str) -> str:
    if len(text) > MAX_ELEMENT:
        raise TooLargeError(f"an element of {len(text):,} characters, where {MAX_ELEMENT:,} are taken")
    return text


def _elements(text: str) -> list[tuple[int, int]]:
    """Where the elements of a list are, or the members of an object. Whether they are well-formed shows when they are
    parsed."""
    what, last = ("list", "]") if text[0] == "[" else ("object", "}")
    found: list[tuple[int, int]] = []
    start = at = 1
    depth = 0
    while depth >= 0:
        token = _OUTSIDE.search(text, at)
        if token is None:
            raise ValueError(f"the {what} has no end")
        at, sign = token.end(), token.group()
        if sign == '"':
            at = _end_of_text(text, at)
        elif sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
        if (sign == "," and depth == 0) or depth < 0:
            found.append((start, at - 1))
            start = at
        if len(found) > MAX_ELEMENTS:
            raise TooLargeError(f"a list of more than {MAX_ELEMENTS:,} elements")
    if text[at - 1] != last or at != len(text):
        raise ValueError(f"the {what} ends before the body does")
    return [] if len(found) == 1 and not text[1 : at - 1].strip() else found


def _end_of_text(text: str, at: int) -> int:
    while True:
        token = _INSIDE.search(text, at)
        if token is None:
            raise ValueError("a text has no end")
        if token.group() == '"':
            return token.end()
        at = token.end() + 1  # behind the character after a backslash
