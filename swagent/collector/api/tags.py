"""The tags that have come, and their values: a query can be completed with them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ..store.store import Store
from ..store.tag_text import BETWEEN, CUT, EQUALS, LONGEST
from .conditions import STATUS_KEYS
from .pair_names import FACETS, term_of
from .pieces import pieces
from .query import STATUS

Answer = dict[str, Any]
_MOST = 100
_MANY = 100_000  # values of one key of which those that came once are forgotten
_PIECE = "id > :low AND id <= :high"
_COLUMNS = ("service", "instance")


def keys(store: Store) -> Answer:
    """The keys of tags, the most frequent first, with the number of segments that have them."""
    version, found = store.version, Counter[str]()
    for piece in pieces(store, "segments"):
        pairs = Counter[str]()
        for (text,) in store.read(f"SELECT tags FROM segments WHERE {_PIECE}", piece):  # noqa: S608
            pairs.update(text.split(BETWEEN))
        # a key that a segment has with two values counts twice: near enough for an order
        for pair, count in pairs.items():
            key, equals, _ = pair.partition(EQUALS)
            if equals and key >= " ":
                found[key] += count
    return {"version": version, "keys": [{"key": key, "count": count} for key, count in found.most_common(_MOST)]}


def values(store: Store, key: str, part: str) -> Answer:
    """The values of a key, the most frequent first, with the number of segments that have them.

    :param key: of a tag, or a facet with its colon: `endpoint:`
    :param part: a text that must be in them, in upper or lower case
    """
    version, found = store.version, Counter[str]()
    facet = key.removesuffix(":") if key.endswith(":") else ""
    if facet in _COLUMNS:
        query = f"SELECT {facet}, count(*) FROM segments WHERE {_PIECE} GROUP BY 1"  # noqa: S608  (one of two)
        for piece in pieces(store, "segments"):
            found.update(dict(store.read(query, piece)))
        return _answer(version, key, FACETS[facet], found, part)
    names = (FACETS[facet],) if facet in FACETS else STATUS_KEYS if key == STATUS else (key[:LONGEST],)
    for name in names:
        head = f"{BETWEEN}{name}{EQUALS}"
        look = re.compile(f"{re.escape(head)}([^{BETWEEN}]*)").findall
        query = f"SELECT tags FROM segments WHERE {_PIECE} AND instr(tags, :head) > 0"  # noqa: S608
        for piece in pieces(store, "segments"):
            for (text,) in store.read(query, {**piece, "head": head}):
                found.update(look(text))
            if len(found) > _MANY:
                found = Counter({value: count for value, count in found.items() if count > 1})
    return _answer(version, key, names[0], found, part)


def _answer(version: int, key: str, name: str, found: Counter[str], part: str) -> Answer:
    wanted = [each for each in found.most_common() if part.lower() in each[0].lower()]
    kept = [
        {"value": value.removesuffix(CUT), "count": count, "term": _term(key, name, value)}
        for value, count in wanted[:_MOST]
    ]
    return {"version": version, "key": key, "values": kept, "more": len(wanted) - len(kept)}


def _term(key: str, name: str, value: str) -> str:
    term = term_of(f"{name}{EQUALS}{value}").term
    return term if key != STATUS else f"{STATUS}={term.partition('=')[2]}"
