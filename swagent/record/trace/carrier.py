"""The context that travels with a call: the headers `sw8` and `sw8-correlation`, as text and as values.

Reading is total: any bytes in, a value or nothing out, in time linear to a bounded length. A header that does not have
exactly the right form counts as absent, and no part of it is used: a peer's bad header must cost no request and start
no broken trace. Form of the headers: SkyWalking Cross Process Propagation Headers Protocol, version 3.
"""

from __future__ import annotations

from binascii import a2b_base64 as _a2b
from binascii import b2a_base64 as _b2a
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...text import one_line
from ..bounded_cache import BoundedCache

MAX_HEADER = 4096
MAX_FIELD = 512
_FIRST_FIELDS = 3
_NAMES = 4
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
    """Read a `sw8` header, text or bytes; None unless it is well-formed."""
    parts = split_sw8(value)
    if parts is None:
        return None
    sampled, trace_id, segment_id, rest = parts
    parent = parent_of(rest)
    return None if parent is None else Carrier(sampled, trace_id.decode(), segment_id.decode(), *parent)


def split_sw8(value: object) -> tuple[bool, bytes, bytes, bytes] | None:
    """The parts of a `sw8` header: whether the trace is sampled, the ids of trace and segment, and the rest as it was
    written, which is the same in many headers of one caller. None unless all of it is well-formed."""
    # as servers hand it over; what is no ASCII is no Base64 either
    header = value if type(value) is bytes and len(value) <= MAX_HEADER else _as_bytes(value)
    parts: list[bytes] = header.split(b"-", _FIRST_FIELDS) if header is not None else []
    if len(parts) <= _FIRST_FIELDS or parts[0] not in (b"0", b"1"):
        return None
    sampled, trace, segment, rest = parts
    try:
        trace_id, segment_id = _a2b(trace), _a2b(segment)
    except ValueError:
        return None
    if not (0 < len(trace_id) <= MAX_FIELD and 0 < len(segment_id) <= MAX_FIELD):
        return None
    # see _decode
    if _b2a(trace_id, newline=False) != trace or _b2a(segment_id, newline=False) != segment:
        return None
    # both at once: it takes as long as for one
    if not (is_simple(trace_id + segment_id) or (_is_legible(trace_id) and _is_legible(segment_id))):
        return None
    return None if parent_of(rest) is None else (sampled == b"1", trace_id, segment_id, rest)


def parent_of(rest: bytes) -> tuple[int, str, str, str, str] | None:
    """The fields of the calling span, from the part that `split_sw8` leaves as it is: its number, its service, instance
    and endpoint, and the address that it called. None when it is not well-formed."""
    return _PARENTS[rest] if len(rest) <= _SHORT else _read_parent(rest)


def _read_parent(rest: bytes) -> tuple[int, str, str, str, str] | None:
    span_id, *names = rest.split(b"-")
    # of bytes, isdigit() lets no digits of other scripts pass
    if len(names) != _NAMES or not span_id.isdigit() or len(span_id) > _SPAN_ID_DIGITS:
        return None
    service, instance, endpoint, address = (_decode(name.decode("latin-1")) for name in names)
    if not (service and instance and endpoint and address):
        return None
    return int(span_id), one_line(service), one_line(instance), one_line(endpoint), one_line(address)


def _is_legible(text_id: bytes) -> bool:
    """Whether it is an id in UTF-8. Ids are compared, and shown in the application's own log lines: cleaned, two of
    them could become one."""
    try:
        return text_id.decode("utf-8").isprintable()
    except ValueError:
        return False


def is_simple(text_id: bytes) -> bool:
    """Whether an id has only letters and digits of ASCII and dots, as most have. This is the quickest check."""
    return text_id.replace(b".", b"").isalnum()


# The same callers call again and again. The values that unknown callers send take little room here.
_PARENTS = BoundedCache(_read_parent)
_SHORT = 512


def format_sw8(carrier: tuple[bool, str, str, int, str, str, str, str]) -> str:
    """Write a `sw8` header of a carrier's fields. Base64 keeps every text, whatever it contains, from ending the
    header, and control characters are replaced; a text too long for a reader such as this one is cut, since it would
    cost the peer the whole context."""
    sampled, trace_id, segment_id, span_id, service, instance, endpoint, address = carrier
    return (
        f"{'1' if sampled else '0'}-{_WRITTEN_IDS[trace_id]}-{_WRITTEN_IDS[segment_id]}-{span_id}-"
        f"{format_place(service, instance, endpoint, address)}"
    )


def format_place(service: str, instance: str, endpoint: str, address: str) -> str:
    """The last four fields of a `sw8` header."""
    return f"{_WRITTEN[service]}-{_WRITTEN[instance]}-{_WRITTEN[endpoint]}-{_WRITTEN[address]}"


def parse_correlation(value: object, max_elements: int, max_length: int) -> dict[str, str]:
    """Read a `sw8-correlation` header; elements that are malformed, too long or too many are left out.

    :param max_length: in characters, each of which may take four bytes
    """
    header = _as_bytes(value)
    elements: dict[str, str] = {}
    for part in header.decode("ascii").split(",") if header else ():
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


def _as_bytes(value: object) -> bytes | None:
    """A header, where it is one: an application may hand over whatever it was given."""
    if type(value) is not bytes and type(value) is not str:
        value = _plain(value)
        if value is None:
            return None
    if len(value) > MAX_HEADER or not value.isascii():
        return None
    return value.encode("ascii") if isinstance(value, str) else value


def _plain(value: Any) -> bytes | str | None:
    """An object that holds bytes as `bytes`, and a text of a subclass as a plain `str`; None for anything else."""
    if issubclass(type(value), str):
        return str.__str__(value)
    try:
        return b"".join((value,))
    except (TypeError, ValueError, BufferError):
        return None


def _decode(field: str, limit: int = MAX_FIELD) -> str | None:
    try:
        data = _a2b(field)
        text = data.decode("utf-8")
    except ValueError:
        return None
    # the decoder skips over foreign characters and bits left over, and each version of Python is strict in a way of
    # its own: so a text counts only if its bytes encode to the same text again
    if len(data) > limit or _written(data) != field.encode("latin-1"):
        return None
    return text


def _written(data: bytes) -> bytes:
    return _b2a(data, newline=False)


def write_field(text: str) -> str:
    """A text as a field of `sw8`: Base64, of one line, and cut where a reader would not take it."""
    if not text.isprintable():
        text = one_line(text)
    if len(text) * 4 > MAX_FIELD:
        text = text.encode("utf-8", "replace")[:MAX_FIELD].decode("utf-8", "ignore")
    # a surrogate by itself cannot travel; the question mark in its place keeps the header well-formed
    return _b2a(text.encode("utf-8", "replace"), newline=False).decode("ascii")


# An agent has one service and one instance, and few operations call few peers. The ids are others in each request: they
# have a small cache of their own, for a request that makes several calls, and push none of those out.
_WRITTEN: BoundedCache[str, str] = BoundedCache(write_field)
_WRITTEN_IDS: BoundedCache[str, str] = BoundedCache(write_field, most=128)


def _encode(text: str) -> str:
    # a lone surrogate cannot travel; the question mark in its place keeps the header well-formed
    return _written(text.encode("utf-8", "replace")).decode("ascii")
