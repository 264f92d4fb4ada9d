"""The functions by which SQLite looks into the text of a segment's tags, where a plain look does not do."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from . import globs
from .protocol import parse
from .tag_text import BETWEEN, CUT, EQUALS

_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_LARGE = 64 * 1024  # bytes


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
    for value in _values(text, head):
        with suppress(ValueError):  # another value may be a number
            yield float(value)


def _values(text: str, head: str) -> Iterator[str]:
    at = text.find(head)
    while at >= 0:
        begin = at + len(head)
        at = text.find(BETWEEN, begin)
        yield text[begin:at]
        at = text.find(head, at)


def matches_glob(value: str, glob: str) -> bool:
    """Whether a value matches a glob.

    :param glob: as `globs.encode` writes it
    """
    return globs.matches(globs.decode(glob), value)


def has_glob(text: str, head: str, glob: str, kind: str) -> bool:
    """Whether one of the values behind a head matches a glob.

    :param head: `BETWEEN`, a key and `EQUALS`
    :param kind: `endpoint`, whose method may be left out, `peer`, whose port may be, `error`, whose module may be; or
        any other word
    """
    wanted = _wanted(glob, kind)
    for value in _values(text, head):
        for form in _forms(value, kind):
            for texts in wanted:
                if globs.matches(texts, form):
                    return True
    return False


@lru_cache(256)
def _wanted(glob: str, kind: str) -> Sequence[Sequence[str]]:
    texts = globs.decode(glob)
    # `Failed` is the kind `shop.errors.Failed`, too
    return (texts, ("", f".{texts[0]}", *texts[1:])) if kind == "error" else (texts,)


def _forms(value: str, kind: str) -> list[str]:
    """The value, and what is left of it without that which may be left out."""
    forms = [value]
    if value.endswith(CUT):
        value = value[:-1]
        forms.append(value)
    if kind == "endpoint":  # `/x` is the endpoint `GET:/x`
        method, colon, rest = value.partition(":")
        if colon and method.isascii() and method.isalpha() and method.isupper():
            forms.append(rest)
    elif kind == "peer":  # `db` is the peer `db:5432`
        host, colon, port = value.rpartition(":")
        if colon and port.isdecimal():
            forms.append(host)
    return forms


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
        for value in (span.operationName, span.peer, *(tag.value for tag in span.tags), *_messages(span))
    )


def _messages(span: Any) -> Iterator[str]:
    if span.isError:
        yield from (field.value for log in span.logs for field in log.data if field.key == "message")


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "has_glob": has_glob, "has_number": has_number, "matches_glob": matches_glob, "spells": spells,
}  # fmt: skip
"""By the names that SQL has for them."""
