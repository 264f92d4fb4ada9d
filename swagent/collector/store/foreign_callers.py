"""Callers that report by OTLP: an entry span of ours knows such a caller by its `traceparent` alone; pure.

A span of OTLP's is kept as a segment of its own, which is named by the ids of its trace and of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_TAG = "traceparent"
_FORM = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-.*")
Caller = tuple[str, int, str]
"""A segment, a span in it, and its service, which is not known."""


def caller_in(value: str) -> Caller | None:
    """The caller that a `traceparent` names."""
    found = _FORM.fullmatch(value)
    return (found[1] + found[2], 0, "") if found is not None else None


def foreign_caller(tags: Iterable[Any], kind: int) -> Caller | None:
    """The caller that the tags of a span's message name.

    :param kind: by number; only an entry span has a caller
    """
    if kind:
        return None
    for tag in tags:
        if tag.key == _TAG:
            return caller_in(tag.value)
    return None
