"""The Kafka key of a record, read out of the record's own bytes.

Records reach a transport encoded. These readers walk the leading fields of one protobuf message and stop at the one
they look for. They are total: bytes that are no such message give an empty key, never an error.
"""

from __future__ import annotations

# wire types of protobuf
_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5
# a varint has at most ten bytes
_MOST_BITS = 63

_SEGMENT_ID = 2
_LOG_INSTANCE, _LOG_CONTEXT, _CONTEXT_SEGMENT_ID = 3, 6, 2
_COLLECTION_DATA, _METER_INSTANCE = 1, 4


def segment_key(record: bytes) -> bytes:
    """The traceSegmentId of a SegmentObject."""
    try:
        # as nearly every segment begins: a trace id and a segment id, both shorter than 128 bytes
        at = record[1] + 2
        if record[0] == 0x0A and record[1] < 0x80 and record[at] == 0x12 and record[at + 1] < 0x80:
            key = record[at + 2 : at + 2 + record[at + 1]]
            return key if len(key) == record[at + 1] else b""
    except IndexError:
        return b""
    return read_field(record, _SEGMENT_ID)


def log_key(record: bytes) -> bytes:
    """The traceSegmentId of a LogData's trace context; outside of a trace, its service instance."""
    context = read_field(record, _LOG_CONTEXT)
    return (context and read_field(context, _CONTEXT_SEGMENT_ID)) or read_field(record, _LOG_INSTANCE)


def meter_key(record: bytes) -> bytes:
    """The service instance of a MeterDataCollection's first MeterData."""
    return read_field(read_field(record, _COLLECTION_DATA), _METER_INSTANCE)


def read_field(message: bytes, wanted: int) -> bytes:
    """The content of the first field of that number that holds bytes.

    :returns: empty when there is none, or when the message cannot be read as far as there
    """
    position, end = 0, len(message)
    try:
        while position < end:
            tag, position = _read_varint(message, position)
            number, wire_type = tag >> 3, tag & 7
            if not number:
                return b""
            if wire_type != _LENGTH:
                position = _skip(message, position, wire_type)
                continue
            size, position = _read_varint(message, position)
            if position + size > end:
                return b""
            if number == wanted:
                return message[position : position + size]
            position += size
    except (IndexError, ValueError):
        return b""
    return b""


def _skip(message: bytes, position: int, wire_type: int) -> int:
    if wire_type == _VARINT:
        return _read_varint(message, position)[1]
    if wire_type == _FIXED_64:
        return position + 8
    if wire_type == _FIXED_32:
        return position + 4
    raise ValueError(wire_type)


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = message[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    for shift in range(7, _MOST_BITS + 1, 7):
        position += 1
        byte = message[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
    raise ValueError(message)
