"""The name of a pair in the text of tags, and the term of a query that finds it. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..store.tag_text import CUT, ENDPOINT, EQUALS, ERROR, INSTANCE, MESSAGE, OPERATION, PEER, SERVICE
from .query import quote

FACETS = {"service": SERVICE, "endpoint": ENDPOINT, "instance": INSTANCE, "peer": PEER, "error": ERROR}
"""The words before a colon in a query, and their signs in the text."""
_KINDS = {**{sign: name for name, sign in FACETS.items()}, OPERATION: "operation", MESSAGE: "message"}
_PLAIN_KEY = re.compile(r'[^\s"=<>!/?*\\]+')


class Named(NamedTuple):
    """A pair for people.

    :ivar kind: `tag`, `operation`, `message`, or one of the facets
    :ivar key: of a tag
    :ivar term: a term of a query that finds it
    """

    kind: str
    key: str
    value: str
    term: str


def term_of(pair: str) -> Named:
    """The name of a pair, and its term."""
    name, _, value = pair.partition(EQUALS)
    rest = "*" if value.endswith(CUT) else ""
    value = value.removesuffix(CUT)
    kind = _KINDS.get(name)
    if kind in ("operation", "message"):
        return Named(kind, "", value, quote(value, always=True))
    if kind is not None:
        return Named(kind, "", value, f"{kind}:{quote(value)}{rest}")
    key = name if _PLAIN_KEY.fullmatch(name) and name not in FACETS else quote(name, always=True)
    return Named("tag", name, value, f"{key}={quote(value)}{rest}")
