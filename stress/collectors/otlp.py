"""How many spans or log records an OTLP request holds: three levels of length-delimited fields, walked and not decoded.

ExportTraceServiceRequest.resource_spans (1) > ResourceSpans.scope_spans (2) > ScopeSpans.spans (2); the numbers are the
same for logs, in opentelemetry-proto's collector/{trace,logs}/v1 and {trace,logs}/v1.
"""

from __future__ import annotations

from collections.abc import Iterator

_PREFIX = 5
_RECORD_PATH = (1, 2, 2)


def count_records(path: bytes, body: bytearray) -> int:
    """The records of one unary call's message; none where it did not come whole."""
    whole = len(body) >= _PREFIX and len(body) == _PREFIX + int.from_bytes(body[1:_PREFIX], "big")
    if b"metrics" in path or not whole:
        return 0
    return _count(memoryview(body)[_PREFIX:], _RECORD_PATH)


def _count(message: memoryview, numbers: tuple[int, ...]) -> int:
    found = (part for number, part in _fields(message) if number == numbers[0])
    return sum(1 for _ in found) if len(numbers) == 1 else sum(_count(part, numbers[1:]) for part in found)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The length-delimited fields of a message; the others are passed over."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        kind = tag & 7
        if kind == 2:
            size, position = _varint(message, position)
            yield tag >> 3, message[position : position + size]
            position += size
        elif kind == 0:
            _, position = _varint(message, position)
        else:
            position += {1: 8, 5: 4}[kind]


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
