"""A MeterDataCollection taken apart: Kafka carries it whole, a gRPC `collect` stream carries its elements."""

from __future__ import annotations

from collections.abc import Iterator

_TAG = 0x0A  # field 1, length-delimited: the only field of the message


def elements(collection: bytes) -> Iterator[bytes]:
    """The encoded MeterData of an encoded MeterDataCollection.

    :raises ValueError: when these are not the bytes of one, as our own encoder writes it
    """
    position = 0
    while position < len(collection):
        if collection[position] != _TAG:
            raise ValueError(f"not a MeterDataCollection at byte {position}")
        size, position = _varint(collection, position + 1)
        if position + size > len(collection):
            raise ValueError(f"a MeterData is cut short at byte {position}")
        yield collection[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    # at most ten bytes: otherwise the number would grow with the data, and the time to read it with its square
    for shift, byte in zip(range(0, 70, 7), data[position : position + 10], strict=False):
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a length is cut short, or has no end")
