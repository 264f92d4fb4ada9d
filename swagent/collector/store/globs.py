"""Whether a value matches a glob: texts that have to come one after the other, with anything between two of them.

Each text between the first and the last is taken at the first place behind the one before it, and is not tried again: a
later place would leave less for the next one, which can take what lies between. So a value takes time in proportion to
its length, however many texts the glob has. A regular expression tries all places of all texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache


def matches(texts: Sequence[str], value: str) -> bool:
    """Whether the whole value matches.

    :param texts: of the glob: `a*b` has two, `a` has one, `*` two that are empty
    """
    first, last = texts[0], texts[-1]
    if len(texts) == 1:
        return value == first
    at, end = len(first), len(value) - len(last)
    if end < at or not value.startswith(first) or not value.endswith(last):
        return False
    for text in texts[1:-1]:
        at = value.find(text, at, end)
        if at < 0:
            return False
        at += len(text)
    return True


def encode(texts: Sequence[str]) -> str:
    """The glob as one text, which SQLite can hand on."""
    return json.dumps(texts)


@lru_cache(256)
def decode(glob: str) -> Sequence[str]:
    """The argument that `encode` got."""
    return tuple(json.loads(glob))
