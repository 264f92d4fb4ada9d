"""From the terms of a query to conditions of SQL, over the segments of a trace and over the trace."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ..store import globs
from ..store.tag_text import BETWEEN, CUT, ENDPOINT, EQUALS, ERROR, LONGEST, PEER
from .query import STATUS, Term

STATUS_KEYS = ("http.status_code", "status_code", STATUS)
"""Where agents put the status of an answer."""
_NAMES = 100  # in which a text is found
_SIGNS = {"endpoint": ENDPOINT, "peer": PEER, "error": ERROR}
_BODY = "(SELECT body FROM bodies WHERE bodies.id = segments.id)"


class Conditions(NamedTuple):
    """Conditions that must hold.

    :ivar having: of a group of segments, those of one trace
    :ivar where: of the trace
    :ivar values: for both
    """

    having: list[str]
    where: list[str]
    values: dict[str, Any]


def conditions(terms: Iterable[Term], sources: Collection[tuple[str, str]]) -> Conditions:
    """The conditions of some terms.

    :param sources: the services and their instances that were heard from
    """
    made = Conditions([], [], {})
    for number, term in enumerate(terms):
        values = _Values(f"q{number}_", made.values)
        if term.kind == "dur":
            made.where.append(f"duration {term.operator} {values.add(term.number)}")
            continue
        is_not = term.operator == "!="
        # as a value SQLite works out both sides of each AND and OR; behind iif() it stops where the answer is known
        found = f"total(iif({_of_segment(term, sources, values)}, 1, 0))"
        made.having.append(f"{found} {'=' if is_not else '>'} 0")
    return made


class _Values:
    """Gives each value of a term a name."""

    def __init__(self, prefix: str, values: dict[str, Any]) -> None:
        self._prefix = prefix
        self._values = values

    def add(self, value: Any) -> str:
        name = f"{self._prefix}{len(self._values)}"
        self._values[name] = value
        return f":{name}"


def _of_segment(term: Term, sources: Collection[tuple[str, str]], values: _Values) -> str:
    """The condition for the segments in which the term is found."""
    if term.kind == "text":
        return _text(term.value.text, sources, values)
    if term.kind in ("service", "instance"):
        if term.value.is_exact:
            return f"{term.kind} = {values.add(term.value.text)}"
        return f"matches_glob({term.kind}, {values.add(globs.encode(term.value.texts))})"
    if term.kind in _SIGNS:
        # a quick look first: the glob is tried where the longest of its texts is
        head = _head(_SIGNS[term.kind])
        return _globbed(term, head, max(term.value.texts, key=len) or head, values)
    keys = STATUS_KEYS if term.key == STATUS else (term.key,)
    if term.operator not in ("=", "!=") and len(keys) > 1:
        return _compared(keys, term, values)  # most segments have one of them
    return f"({' OR '.join(_tag(key, term, values) for key in keys)})"


def _tag(key: str, term: Term, values: _Values) -> str:
    head = _head(key)
    if term.operator in ("=", "!="):
        if term.value.is_anything:
            return f"instr(tags, {values.add(head)}) > 0"
        if term.value.is_exact:
            return _exact(key, term.value.text, values)
        return _globbed(term, head, head + term.value.texts[0], values)
    return f"(instr(tags, {values.add(head)}) > 0 AND {_compared([key], term, values)})"


def _globbed(term: Term, head: str, first: str, values: _Values) -> str:
    """That a value behind the head matches.

    :param first: a text that every segment with such a value contains
    """
    glob = values.add(globs.encode(term.value.texts))
    return f"(instr(tags, {values.add(first)}) > 0 AND has_glob(tags, {values.add(head)}, {glob}, '{term.kind}'))"


def _compared(keys: Sequence[str], term: Term, values: _Values) -> str:
    heads = "".join(map(_head, keys))
    return f"has_number(tags, {values.add(heads)}, '{term.operator}', {values.add(term.number)})"


def _head(key: str) -> str:
    return f"{BETWEEN}{key[:LONGEST]}{EQUALS}"


def _exact(key: str, value: str, values: _Values) -> str:
    head = _head(key)
    if len(value) <= LONGEST:
        return f"instr(tags, {values.add(f'{head}{value}{BETWEEN}')}) > 0"
    # its beginning is in the index, all of it in the segment
    first = f"instr(tags, {values.add(f'{head}{value[:LONGEST]}{CUT}{BETWEEN}')}) > 0"
    return f"({first} AND {_spelled(key, value, values)})"


def _spelled(key: str, text: str, values: _Values) -> str:
    """That the segment's bytes hold it is soon found out; whether it is in a value takes a closer look."""
    low = values.add(text.lower().encode())
    return f"contains({_BODY}, {low}) AND spells({_BODY}, {values.add(key)}, {values.add(text)})"


def _text(text: str, sources: Iterable[tuple[str, str]], values: _Values) -> str:
    """A text in tags, operations, peers and names, or the beginning of an id."""
    escaped = re.sub(r"([\\%_])", r"\\\1", text)
    looks = [f"tags LIKE {values.add(f'%{escaped}%')} ESCAPE '\\'"]
    # names are few, and known: most texts are in none
    low = text.lower()
    found = [(service, instance) for service, instance in sources if low in service.lower() or low in instance.lower()]
    if found:
        pairs = ", ".join(f"({values.add(service)}, {values.add(instance)})" for service, instance in found[:_NAMES])
        looks.append(f"(service, instance) IN (VALUES {pairs})")
    begin, end = values.add(text), values.add(text + chr(0x10FFFF))
    looks += [f"({column} >= {begin} AND {column} < {end})" for column in ("trace", "segment")]
    looks.append(f"(substr(tags, 1, 1) = {values.add(CUT)} AND {_spelled('', low, values)})")
    return f"({' OR '.join(looks)})"
