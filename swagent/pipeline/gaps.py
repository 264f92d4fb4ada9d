"""Formats of bytes: a message that was encoded with marks in it becomes one with gaps, to be filled by `%`."""

from __future__ import annotations

from collections.abc import Iterable


def make_mark(letter: str, length: int) -> str:
    """A text of this length that cannot overlap itself, so that it is found where it was put or not at all."""
    return ("<" + letter * length)[:length]


def put_gaps(encoded: bytes, marks: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The format, with a gap in the place of each mark. A text for a gap has to be as long as its mark, since
    protobuf writes a length before each message.

    :param marks: in their order, and what is before each gap; an empty mark is a gap for nothing, right there
    :raises ValueError: when a mark is not there once
    """
    return b"%b".join(map(escape, split_at(encoded, marks)))


def split_at(encoded: bytes, marks: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """The pieces around the gaps of such a format, one more than there are gaps.

    :raises ValueError: when a mark is not there once
    """
    pieces: list[bytes] = []
    for mark, before in marks:
        piece = b""
        if mark:
            if encoded.count(mark) != 1:
                raise ValueError(f"{mark!r} is not there once")
            piece, encoded = encoded.split(mark)
        pieces.append(piece + before)
    return [*pieces, encoded]


def escape(piece: bytes) -> bytes:
    """The format that renders as exactly this piece."""
    return piece.replace(b"%", b"%%")
