"""The functions by which SQLite looks into the text of a segment's tags, where a plain look does not do."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from .protocol import parse
from .tag_text import BETWEEN, EQUALS

_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_LARGE = 64 * 1024  # bytes
_compiled = lru_cache(256)(re.compile)


def has_number(text: str, heads: str, order: str, number: float) -> bool:
    """Whether one of the values behind the heads is a number that compares like that.

    :param heads: `BETWEEN`, a key and `EQUALS`, once or several times
    """
    compare = _ORDERS[order]
    return any(compare(each, number) for head in _split(heads) for each in _numbers(text, head))


@lru_cache(256)
def _split(heads: str) -> list[str]:
    return [head + EQUALS for head in heads.split(EQUALS)[:-1]]


def _numbers(text: str, head: str) -> Iterator[float]:
    at = text.find(head)
    while at >= 0:
        begin = at + len(head)
        at = text.find(BETWEEN, begin)
        with suppress(ValueError):  # another value may be a number
            yield float(text[begin:at])
        at = text.find(head, at)


def regexp(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text."""
    return _compiled(pattern).search(text) is not None


def spells(body: bytes, key: str, text: str) -> bool:
    """Whether a tag of that key has just that value; without a key, whether any value holds a text of lower case.

    For what is not whole in the index. A very large segment is not read: that its bytes hold the text must do.
    """
    if len(body) > _LARGE:
        return True
    spans = parse("SegmentObject", body).spans
    if key:
        return any(tag.key == key and tag.value == text for span in spans for tag in span.tags)
    return any(
        text in value.lower()
        for span in spans
        for value in (span.operationName, span.peer, *(tag.value for tag in span.tags))
    )


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"has_number": has_number, "regexp": regexp, "spells": spells}
"""By the names that SQL has for them."""
