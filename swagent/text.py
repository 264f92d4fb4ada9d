"""The characters that a name may contain, be it one that came from outside or one that leaves the process.

The codecs clean every text once more when they encode it. But names leave in other ways too: in the headers of outgoing
calls, in the application's own log lines (a trace's id), in the keys of Kafka records.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
"""Replaces an unsafe character. Removing it instead could join two parts that an attacker kept apart."""

# Terminal controls and line ends; marks that turn the reading direction around, so that a line reads as something else;
# surrogates, which have no UTF-8 form.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """The text with every unsafe character replaced; the same object where there is none. Total."""
    # one pass in C, and true for nearly every text
    return text if text.isprintable() else _UNSAFE.sub(REPLACEMENT, text)
