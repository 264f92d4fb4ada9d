"""Changing inputs at random, without knowing what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_MAX = 20_000
_INTERESTING = (
    b"", b"\0", b"\xff" * 9 + b"\x7f", b"\x80" * 11, b"\r\n", b"\n\n", b"-", b",", b":", b"=", b"==", b"%", b"@", b"[",
    b"9" * 20, b"0" * 400, b"-1", b"1e400", b"\xc2\xb2", b"\xd9\xa1", b"\xed\xa0\x80", b"\xc0\xaf", b"\xe2\x80\xae",
    b"\x1b[31m", b"\x0a\xff\xff\xff\xff\x0f", b"\x00\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"A" * 600, b"true",
)  # fmt: skip


def mutate(seeds: Sequence[bytes], dice: Random) -> bytes:
    """One of the seeds with a few changes."""
    data = bytearray(dice.choice(seeds)) if seeds else bytearray()
    for _ in range(dice.randint(1, 6)):
        at = dice.randint(0, len(data))
        size = dice.randint(0, min(16, len(data) - at))
        match dice.randrange(7):
            case 0 if len(data) > at:
                data[at] ^= 1 << dice.randrange(8)
            case 1:
                data[at : at + size] = dice.randbytes(dice.randint(0, 8))
            case 2:
                data[at : at + size] = dice.choice(_INTERESTING)
            case 3:
                del data[at : at + size]
            case 4:
                data[at:at] = data[at : at + size] * dice.randint(1, 50)
            case 5 if seeds:
                other = dice.choice(seeds)
                start = dice.randint(0, len(other))
                data[at : at + size] = other[start : start + dice.randint(0, 40)]
            case _:
                del data[at:]
    return bytes(data[:_MAX])
