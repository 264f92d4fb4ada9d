"""Whether a version is among those that were looked at.

Nearly all versions are numbers with dots, and all of ours are bounds of such: these are compared here. `packaging`,
which takes longer to import than all comparisons of a process take, is asked for everything else.
"""

from __future__ import annotations


def fits(found: str, wanted: str) -> bool:
    """Whether a version is wanted. A candidate of a wanted release is as good as that.

    :param found: as its distribution has it; one that is no version is never wanted
    :param wanted: as requirements have them, such as `>=4.10,<5`
    """
    release = _release(found)
    bounds = [(each[:2], _release(each[2:])) if each[1:2] == "=" else (each[:1], _release(each[1:]))
              for each in wanted.split(",")]  # fmt: skip
    is_above = True
    for operator, bound in bounds:
        if release is None or bound is None or operator not in (">=", "<"):
            return _fits_by_standard(found, wanted)
        is_above = is_above and (release >= bound if operator == ">=" else release < bound)
    return is_above


def _release(text: str) -> tuple[int, ...] | None:
    """Its numbers, without zeros at the end, which mean nothing; None: it is something else."""
    parts = text.split(".")
    if not (text.isascii() and all(map(str.isdigit, parts))):
        return None
    numbers = [*map(int, parts)]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _fits_by_standard(found: str, wanted: str) -> bool:
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415, RUF100  (seldom needed)
    from packaging.version import InvalidVersion  # noqa: PLC0415, RUF100

    try:
        return SpecifierSet(wanted).contains(found, prereleases=True)
    except InvalidVersion:
        return False
