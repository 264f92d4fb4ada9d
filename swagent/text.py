"""What a name may contain, be it one that came from outside or one that leaves the process.

The codecs clean every text once more as they encode it; but a name goes other ways too: into the headers of outgoing
calls, into the application's own log lines (a trace's id), into the keys of Kafka records.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
"""Stands where an unsafe character stood: a removal could join what an attacker kept apart."""

# Terminal controls and the ends of lines, marks that turn the reading direction around and so make a line read as what
# it is not, and surrogates, which have no UTF-8 form.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """The text with every unsafe character replaced; the same object where there is none. Total."""
    # one pass in C, and true for nearly all
    return text if text.isprintable() else _UNSAFE.sub(REPLACEMENT, text)
