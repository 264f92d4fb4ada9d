"""From the protocol's JSON to the bytes of its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..cancelling import stop_if_cancelled
from ..store.protocol import encode_json, field_of_span, malformed


def encoded(name: str, value: Any) -> bytes:
    """The bytes of a message. Spans are translated one by one, since a segment may have many.

    :param name: of the message's kind, without the package
    :raises ValueError: when it is not a message of this kind
    """
    stop_if_cancelled()
    if name != "SegmentObject" or not isinstance(value, dict):
        return encode_json(name, value)
    head = dict(cast("Mapping[str, Any]", value))
    if not isinstance(head.get("spans"), list):
        return encode_json(name, head)
    spans: Sequence[Any] = head.pop("spans")
    data = bytearray(encode_json(name, head))
    for span in spans:
        with malformed(name):
            data += field_of_span(encode_json("SpanObject", span))
    return bytes(data)
