"""From the protocol's JSON to the bytes of its messages, without holding up others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import anyio.to_thread

from ..pace import Pace
from ..store.protocol import encode_json, field_of_span, is_long, malformed


async def encoded(name: str, value: Any, pace: Pace) -> bytes:
    """The bytes of a message. Spans are translated one by one, since a segment may have many.

    :param name: of the message's kind, without the package
    :raises ValueError: when it is not a message of this kind
    """
    await pace.breathe()
    if name != "SegmentObject" or not isinstance(value, dict):
        return await _parsed(name, value)
    head = dict(cast("Mapping[str, Any]", value))
    if not isinstance(head.get("spans"), list):
        return await _parsed(name, head)
    spans: Sequence[Any] = head.pop("spans")
    data = bytearray(await _parsed(name, head))
    for span in spans:
        with malformed(name):
            data += field_of_span(await _parsed("SpanObject", span))
        await pace.breathe()
    return bytes(data)


async def _parsed(name: str, value: Any) -> bytes:
    """A long record is translated in a thread: the translation is foreign, and in Python."""
    if is_long(value):
        return await anyio.to_thread.run_sync(encode_json, name, value)
    return encode_json(name, value)
