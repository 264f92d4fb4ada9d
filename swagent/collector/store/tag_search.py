"""The functions by which SQLite looks into the text of a segment's tags, where a plain look does not do."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from .tag_text import BETWEEN

_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_compiled = lru_cache(256)(re.compile)


def has_number(text: str, head: str, order: str, number: float) -> bool:
    """Whether one of the values behind `head` is a number that compares like that."""
    compare = _ORDERS[order]
    at = text.find(head)
    while at >= 0:
        begin = at + len(head)
        end = text.find(BETWEEN, begin)
        try:
            if compare(float(text[begin:end]), number):
                return True
        except ValueError:
            pass  # another value may be a number
        at = text.find(head, end)
    return False


def regexp(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text."""
    return _compiled(pattern).search(text) is not None


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"has_number": has_number, "regexp": regexp}
"""By the names that SQL has for them."""
