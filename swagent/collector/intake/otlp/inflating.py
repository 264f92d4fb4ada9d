"""Decompresses what a sender compressed with gzip, within the bounds of what is not compressed."""

from __future__ import annotations

import zlib

from ..room import MAX_BODY

_GZIP = 16 + zlib.MAX_WBITS


class TooLargeInsideError(ValueError):
    """Decompressed, it is larger than allowed."""


def inflate(data: bytes, most: int = MAX_BODY) -> bytes:
    """What was compressed.

    :param most: bytes of it
    :raises TooLargeInsideError: when there is more
    :raises ValueError: when it is not one whole gzip stream
    """
    machine = zlib.decompressobj(_GZIP)
    try:
        found = machine.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(f"it is no gzip: {error}") from error
    if len(found) > most:
        raise TooLargeInsideError(f"decompressed it is larger than {most} bytes")
    if not machine.eof or machine.unused_data:
        raise ValueError("it is not one whole gzip stream")
    return found
