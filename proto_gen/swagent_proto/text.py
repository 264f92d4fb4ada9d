"""Written by hand, like `cache`: what a string may contain once it leaves the process.

Both codecs clean by `clean`, so that one record reads the same over every transport.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
"""Replaces an unsafe character: a removal could join two parts that an attacker kept apart."""

# Terminal controls (tab and the line ends are legal in logs and stacks), marks that turn the reading
# direction around and so make a line read as what it is not, and surrogates, which have no UTF-8 form.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ASCII_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n\r")


def clean(value: str) -> str:
    """`value` with every unsafe character replaced; the same object where there is none. Total."""
    if value.isprintable():  # one pass in C, and true for nearly all
        return value
    # Stack traces are long, and not "printable" only for their line ends: the regex is six times slower.
    if value.isascii() and len(value.encode().translate(None, _ASCII_CONTROLS)) == len(value):
        return value
    return _UNSAFE.sub(REPLACEMENT, value)
