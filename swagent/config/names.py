"""Names that were misspelt."""

from __future__ import annotations

from collections.abc import Iterable

_LONG = 100


def question(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: which known one may be meant. Empty where none is near."""
    # not before it is needed: most processes have no such name
    import difflib  # noqa: PLC0415, RUF100

    # comparing takes time by the square of a name's length
    near = difflib.get_close_matches(name[:_LONG], list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
