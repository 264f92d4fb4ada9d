"""A batch on its way out: gRPC messages, cut into DATA frames. Pure."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter

_PREFIX = struct.Struct(">xI")
# Of most records. To find one takes a third of what packing one does.
_SHORT = tuple(map(_PREFIX.pack, range(2048)))
_FRAME = struct.Struct(">HBBBI")
_DATA, _HEADERS, _CONTINUATION = 0x0, 0x1, 0x9
_END_STREAM, _END_HEADERS = 0x1, 0x4


def _find_short(lengths: Sequence[int]) -> Sequence[bytes]:
    """Their prefixes.

    :raises IndexError: when one of them is not short
    """
    # one call for all of them takes two thirds of what a loop does
    return itemgetter(*lengths)(_SHORT) if len(lengths) > 1 else [_SHORT[length] for length in lengths]


def head_frames(block: bytes, stream_id: int, most: int) -> bytes:
    """The frames of a request's headers.

    :param most: the bytes that a frame may have
    """
    pieces = [block[start : start + most] for start in range(0, len(block), most)]
    found: list[bytes] = []
    for place, piece in enumerate(pieces):
        kind, flags, size = _CONTINUATION if place else _HEADERS, _END_HEADERS if piece is pieces[-1] else 0, len(piece)
        found += [_FRAME.pack(size >> 8, size & 0xFF, kind, flags, stream_id), piece]
    return b"".join(found)


class Batch:
    """Length-prefixed messages, one after the other, none of them compressed.

    :ivar sent: how many bytes of them are out
    :ivar is_out: whether all are, and the end of the stream with them
    """

    def __init__(self, records: Sequence[bytes]) -> None:
        self._lengths = lengths = list(map(len, records))
        # prefixes and records in turns
        self._pieces: list[bytes] = [b""] * (2 * len(lengths))
        self._pieces[1::2] = records
        try:
            self._pieces[0::2] = _find_short(lengths)
        except IndexError:
            self._pieces[0::2] = map(_PREFIX.pack, lengths)
            self._is_short = False
        else:
            self._is_short = True
        self._left = sum(lengths) + _PREFIX.size * len(lengths)
        self._next = 0
        self._rest: memoryview | bytes = b""
        self.sent = 0
        self.is_out = False

    def cut(self, parts: list[bytes | memoryview], stream_id: int, room: int, most: int) -> int:
        """Append the next DATA frames to what is to be written.

        :param room: how many bytes the windows let out
        :param most: the bytes that a frame may have
        :returns: how many bytes of the windows they take
        """
        before = self.sent
        while not self.is_out:
            if self._is_short and not self._rest:
                room -= self._cut_whole(parts, stream_id, room, most)
            if self.is_out:
                break
            # where messages are short, only the rest of the one that was cut
            size = min((self._is_short and len(self._rest)) or self._left, most, max(room, 0))
            if not size and self._left:
                break
            room -= size
            self._put_head(parts, stream_id, size)
            self._fill(parts, size)
        return self.sent - before

    def _put_head(self, parts: list[bytes | memoryview], stream_id: int, size: int) -> None:
        """Append the head of the next frame."""
        self._left -= size
        self.sent += size
        self.is_out = not self._left
        parts.append(_FRAME.pack(size >> 8, size & 0xFF, _DATA, _END_STREAM if self.is_out else 0, stream_id))

    def _cut_whole(self, parts: list[bytes | memoryview], stream_id: int, room: int, most: int) -> int:
        """Append frames of whole messages, as many as there is room for; their bytes."""
        lengths, first, prefix, before = self._lengths, self._next, _PREFIX.size, self.sent
        fit = most * (len(lengths) - first) // max(self._left, 1)
        while first < len(lengths):
            upto = min(first + max(fit, 1), len(lengths))
            size = sum(lengths[first:upto]) + prefix * (upto - first)
            limit = min(most, room)
            while size > limit and upto > first:
                upto -= 1
                size -= lengths[upto] + prefix
            if upto == first:
                break
            room -= size
            self._put_head(parts, stream_id, size)
            parts += self._pieces[2 * first : 2 * upto]
            # as many as fit if they are like those of this one
            fit = most * (upto - first) // size
            first = upto
        self._next = first
        return self.sent - before

    def _fill(self, parts: list[bytes | memoryview], size: int) -> None:
        """Append the next bytes: whole messages, and of the first and the last one what is this frame's."""
        if self._rest:
            parts.append(self._rest[:size])
            size -= len(parts[-1])
            self._rest = self._rest[len(parts[-1]) :]
        count, whole = self._count_whole(size)
        first, self._next = self._next, self._next + count
        parts += self._pieces[2 * first : 2 * self._next]
        if cut := size - whole:
            message = memoryview(b"".join(self._pieces[2 * self._next : 2 * self._next + 2]))
            parts.append(message[:cut])
            self._rest = message[cut:]
            self._next += 1

    def _count_whole(self, room: int) -> tuple[int, int]:
        """How many of the next messages fit in, and their bytes."""
        if room <= 0:
            return 0, 0
        lengths, first, prefix = self._lengths, self._next, _PREFIX.size
        # first as many as average ones would be, then one by one
        upto = min(first + room * len(lengths) // (self._left + self.sent), len(lengths))
        size = sum(lengths[first:upto]) + prefix * (upto - first)
        while size > room:
            upto -= 1
            size -= lengths[upto] + prefix
        while upto < len(lengths) and size + lengths[upto] + prefix <= room:
            size += lengths[upto] + prefix
            upto += 1
        return upto - first, size
