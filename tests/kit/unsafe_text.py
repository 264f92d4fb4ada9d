"""Which characters must not leave the process, said once more than the product says it, and otherwise: by their names.

Unsafe are terminal controls, surrogates, and the controls of the Unicode bidirectional algorithm (UAX #9, 2), which
turn the reading direction of the text around them. Other format characters only join or group letters. Some of these
have a strong direction of their own, as a letter has (U+070F, U+110BD). They turn nothing around: they stay.
"""

from __future__ import annotations

import unicodedata

DIRECTION_CONTROLS = frozenset(
    map(
        unicodedata.lookup,
        (
            *("ARABIC LETTER MARK", "LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK"),
            *("LEFT-TO-RIGHT EMBEDDING", "RIGHT-TO-LEFT EMBEDDING", "POP DIRECTIONAL FORMATTING"),
            *("LEFT-TO-RIGHT OVERRIDE", "RIGHT-TO-LEFT OVERRIDE"),
            *("LEFT-TO-RIGHT ISOLATE", "RIGHT-TO-LEFT ISOLATE", "FIRST STRONG ISOLATE", "POP DIRECTIONAL ISOLATE"),
        ),
    )
)


def is_unsafe(letter: str) -> bool:
    """Whether it must not be in any text; in a name the ends of lines must not, either."""
    is_control = unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\t\n\r"
    return is_control or letter in DIRECTION_CONTROLS
