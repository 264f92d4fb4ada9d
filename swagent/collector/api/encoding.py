"""Writes an answer as JSON, piece by piece: the encoder in C keeps the interpreter until it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..pace import Pace

_AT_ONCE = 20
_dumps = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


async def encode(answer: Mapping[str, Any]) -> bytes:
    """The bytes of an answer. Long lists in it are written a few elements at a time.

    Text that is no text, such as half a character, is escaped, and does no harm.
    """
    pace, parts = Pace(), list[str]()
    for key, value in answer.items():
        parts.append(f"{',' if parts else '{'}{_dumps(key)}:")
        if isinstance(value, list):
            await _encode_list(cast("Sequence[Any]", value), parts, pace)
        else:
            parts.append(_dumps(value))
        await pace.breathe()
    return ("".join(parts) + "}" if parts else "{}").encode()


async def _encode_list(values: Sequence[Any], parts: list[str], pace: Pace) -> None:
    parts.append("[")
    for low in range(0, len(values), _AT_ONCE):
        parts.append(("," if low else "") + _dumps(values[low : low + _AT_ONCE])[1:-1])
        await pace.breathe()
    parts.append("]")
