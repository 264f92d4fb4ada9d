"""Attributes and values of OTLP as texts; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_DEEPEST = 20


def text_of(value: Any) -> str:
    """A value as text: a list or an object as JSON, a truth value in lower case."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return str(value.string_value)
    if kind is None:
        return ""
    if kind in ("array_value", "kvlist_value"):
        return json.dumps(_plain(value, 0), ensure_ascii=False)
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    if kind == "bytes_value":
        return str(value.bytes_value.hex())
    return str(getattr(value, kind))


def _plain(value: Any, depth: int) -> Any:
    kind = value.WhichOneof("value")
    if depth > _DEEPEST:
        return "..."
    if kind == "array_value":
        return [_plain(each, depth + 1) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {each.key: _plain(each.value, depth + 1) for each in value.kvlist_value.values}
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return getattr(value, kind) if kind else None


def texts_of(attributes: Iterable[Any]) -> dict[str, str]:
    """Attributes as texts, in their order; of a key that occurs twice the first counts."""
    found: dict[str, str] = {}
    for each in attributes:
        if each.key not in found:
            found[each.key] = text_of(each.value)
    return found
