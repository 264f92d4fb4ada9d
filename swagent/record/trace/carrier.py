"""The context that travels with a call: the headers `sw8` and `sw8-correlation`, as text and as values.

Reading is total: any bytes in, a value or nothing out, in time linear to a bounded length. What is not exactly of the
form is treated as absent, never half used: a peer's bad header must cost no request and start no broken trace.
Form of the headers: SkyWalking Cross Process Propagation Headers Protocol, version 3.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...text import one_line
from ..bounded_cache import BoundedCache

MAX_HEADER = 4096
MAX_FIELD = 512
_FIELDS = 8
_SPAN_ID_DIGITS = 9


class Carrier(NamedTuple):
    """The eight fields of `sw8`."""

    sampled: bool
    trace_id: str
    segment_id: str
    span_id: int
    service: str
    instance: str
    endpoint: str
    address: str
    """The address that the client used to reach this process."""


def parse_sw8(value: object) -> Carrier | None:
    """Read a `sw8` header, text or bytes; None when it is anything but well-formed."""
    text = _as_text(value)
    if text is None:
        return None
    fields = text.split("-")
    if len(fields) != _FIELDS or fields[0] not in ("0", "1"):
        return None
    span_id = fields[3]
    # isdecimal() alone would let digits of other scripts pass; _as_text has let ASCII through only
    if not span_id.isdecimal() or len(span_id) > _SPAN_ID_DIGITS:
        return None
    trace_id, segment_id = _decode(fields[1]), _decode(fields[2])
    if not trace_id or not segment_id:
        return None
    # ids are compared, and shown in the application's own log lines: cleaned, two of them could become one
    if not (trace_id.isprintable() and segment_id.isprintable()):
        return None
    written = tuple(fields[4:])
    names = _NAMES[written] if len(text) <= _SHORT else _decode_names(written)
    return None if names is None else Carrier(fields[0] == "1", trace_id, segment_id, int(span_id), *names)


def _decode_names(written: tuple[str, ...]) -> tuple[str, str, str, str] | None:
    service, instance, endpoint, address = map(_decode, written)
    if not (service and instance and endpoint and address):
        return None
    return one_line(service), one_line(instance), one_line(endpoint), one_line(address)


# The same callers call again and again. What anybody may send takes little room here.
_NAMES = BoundedCache(_decode_names)
_SHORT = 512


def format_sw8(carrier: tuple[bool, str, str, int, str, str, str, str]) -> str:
    """Write a `sw8` header of a carrier's fields. Base64 keeps every text, whatever it contains, from ending the
    header, and control characters are replaced; a text too long for a reader such as this one is cut, since it would
    cost the peer the whole context."""
    sampled, trace_id, segment_id, span_id, service, instance, endpoint, address = carrier
    return (
        f"{'1' if sampled else '0'}-{_WRITTEN_IDS[trace_id]}-{_WRITTEN_IDS[segment_id]}-{span_id}-"
        f"{_WRITTEN[service]}-{_WRITTEN[instance]}-{_WRITTEN[endpoint]}-{_WRITTEN[address]}"
    )


def parse_correlation(value: object, max_elements: int, max_length: int) -> dict[str, str]:
    """Read a `sw8-correlation` header; elements that are malformed, too long or too many are left out.

    :param max_length: in characters, each of which may take four bytes
    """
    text = _as_text(value)
    elements: dict[str, str] = {}
    for part in text.split(",") if text else ():
        if len(elements) >= max_elements:
            break
        key, separator, content = part.strip(" \t").partition(":")
        name, element = _decode(key), _decode(content, 4 * max_length)
        if separator and name and element is not None and len(element) <= max_length:
            elements[name] = element
    return elements


def format_correlation(elements: Mapping[str, str]) -> str:
    """Write a `sw8-correlation` header; empty for no elements."""
    return ",".join(f"{_encode(key)}:{_encode(value)}" for key, value in elements.items())


def can_travel(elements: Mapping[str, str], max_elements: int, max_length: int) -> bool:
    """Whether a reader with the same limits takes every element."""
    return parse_correlation(format_correlation(elements), max_elements, max_length) == elements


def _as_text(value: object) -> str | None:
    """A header as text, where it is one: an application may hand over whatever it was given."""
    if type(value) is not bytes and type(value) is not str:
        value = _plain(value)
        if value is None:
            return None
    if len(value) > MAX_HEADER or not value.isascii():
        return None
    return value.decode("ascii") if isinstance(value, bytes) else value


def _plain(value: Any) -> bytes | str | None:
    """What holds bytes, as bytes, and a text of another class as a plain one; None of anything else."""
    if issubclass(type(value), str):
        return str.__str__(value)
    try:
        return b"".join((value,))
    except (TypeError, ValueError, BufferError):
        return None


def _decode(field: str, limit: int = MAX_FIELD) -> str | None:
    try:
        data = binascii.a2b_base64(field)
        text = data.decode("utf-8")
    except ValueError:
        return None
    # the decoder skips over foreign characters and bits left over, and each version of Python is strict in a way of
    # its own: only what encodes back to itself is of the form
    if len(data) > limit or binascii.b2a_base64(data, newline=False) != field.encode("ascii"):
        return None
    return text


def _field(text: str) -> str:
    text = one_line(text)
    if len(text) * 4 > MAX_FIELD:
        text = text.encode("utf-8", "replace")[:MAX_FIELD].decode("utf-8", "ignore")
    return _encode(text)


# An agent has one service and one instance, and few operations call few peers. The ids are others in each request: they
# have a cache of their own, for a request that makes several calls, and push none of those out.
_WRITTEN: BoundedCache[str, str] = BoundedCache(_field)
_WRITTEN_IDS: BoundedCache[str, str] = BoundedCache(_field)


def _encode(text: str) -> str:
    # a lone surrogate cannot travel; the question mark in its place keeps the header well-formed
    return binascii.b2a_base64(text.encode("utf-8", "replace"), newline=False).decode("ascii")
