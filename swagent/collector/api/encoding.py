"""Writes an answer as JSON, piece by piece: the encoder in C does not let other threads run until it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..cancelling import stop_if_cancelled

_AT_ONCE = 20
_dumps = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def encode(answer: Mapping[str, Any]) -> bytes:
    """The bytes of an answer. Long lists in it are written a few elements at a time.

    Text that is no text, such as half a character, is escaped, and does no harm.
    """
    parts: list[str] = []
    for key, value in answer.items():
        parts.append(f"{',' if parts else '{'}{_dumps(key)}:")
        if isinstance(value, list):
            _encode_list(cast("Sequence[Any]", value), parts)
        else:
            parts.append(_dumps(value))
    return ("".join(parts) + "}" if parts else "{}").encode()


def _encode_list(values: Sequence[Any], parts: list[str]) -> None:
    parts.append("[")
    for low in range(0, len(values), _AT_ONCE):
        stop_if_cancelled()
        parts.append(("," if low else "") + _dumps(values[low : low + _AT_ONCE])[1:-1])
    parts.append("]")
