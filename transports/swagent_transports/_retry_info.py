"""For how long a collector asks to be left alone with RESOURCE_EXHAUSTED: the google.rpc.RetryInfo in the status's
details."""

from __future__ import annotations

import base64
from collections.abc import Iterator

LONGEST = 60.0
_RETRY_INFO = b"/google.rpc.RetryInfo"
# google.rpc.Status.details; google.protobuf.Any; RetryInfo.retry_delay; google.protobuf.Duration
_DETAILS, _TYPE_URL, _VALUE, _RETRY_DELAY, _SECONDS, _NANOS = 3, 1, 2, 1, 1, 2
_VARINT, _LENGTH = 0, 2
_FIXED = {1: 8, 5: 4}
_NEGATIVE = 2**63


def read_retry_delay(text: str) -> float | None:
    """Seconds to wait, from 0 to `LONGEST`; None when there is no RetryInfo that can be read. Never raises.

    :param text: the trailer `grpc-status-details-bin`: a google.rpc.Status in base64, with or without its padding
    """
    try:
        status = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        for detail in _each(status, _DETAILS):
            if _first(detail, _TYPE_URL).endswith(_RETRY_INFO):
                return _seconds(_first(_first(detail, _VALUE), _RETRY_DELAY))
    except (IndexError, ValueError):
        # not base64, or not protobuf
        return None
    return None


def _seconds(duration: bytes) -> float:
    numbers = {number: value for number, value in fields(duration) if isinstance(value, int)}
    if any(value >= _NEGATIVE for value in numbers.values()):
        return 0.0
    return min(numbers.get(_SECONDS, 0) + numbers.get(_NANOS, 0) / 1e9, LONGEST)


def _first(message: bytes, wanted: int) -> bytes:
    return next(_each(message, wanted), b"")


def _each(message: bytes, wanted: int) -> Iterator[bytes]:
    return (value for number, value in fields(message) if number == wanted and isinstance(value, bytes))


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbers and values of a message's fields.

    :raises ValueError: when it cannot be read any further
    :raises IndexError: when it ends too early
    """
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _VARINT:
            value, position = _varint(message, position)
            yield number, value
            continue
        if wire_type == _LENGTH:
            size, position = _varint(message, position)
        elif wire_type in _FIXED:
            size = _FIXED[wire_type]
        else:
            raise ValueError(wire_type)
        if position + size > len(message):
            raise IndexError(position)
        yield number, message[position : position + size]
        position += size


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
    raise ValueError(position)
