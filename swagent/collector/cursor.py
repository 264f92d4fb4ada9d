"""Where the next page of a list begins: after the last element of this one, by what the list is sorted by."""

from __future__ import annotations

import json
import math
from typing import Any

Position = tuple[float, Any]
_BEYOND = 2**63  # SQLite's integers end before


def encode(position: Position) -> str:
    """The text for a client to hand back."""
    return json.dumps(position)


def decode(text: str, kind: type) -> Position | None:
    """The position in a text; None of an empty one.

    :param kind: of its second part
    :raises ValueError: when it is none
    """
    if not text:
        return None
    try:
        number, last = json.loads(text)
        if _is_number(number) and type(last) is kind and (kind is str or _is_number(last)):
            return number, last
    except (ValueError, TypeError, RecursionError):
        pass
    raise ValueError("cursor: take the `next` of the page before")


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -_BEYOND <= value < _BEYOND
    return type(value) is float and math.isfinite(value)
