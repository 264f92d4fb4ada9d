"""Several layouts of memory, of which the least counts.

A request takes the same instructions at each run with the same layout. With another layout it takes up to half a
percent more: two context variables, or two of the attributes that the interpreter remembers, have one place by their
hashes or addresses, and each of them is then looked for the long way. A longer path of the folder is enough for that.
Half a percent of a request is a tenth of the accelerator's share of it. So a case is counted with other layouts before
it is a regression: more code takes more with each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .figures import Count, Counts

LAYOUTS = 6
_PADDING = 37
"""Variables of the environment for each layout. It is a prime, so that no layout fills whole pages of memory."""


def environ_of(layout: int) -> Mapping[str, str]:
    """The variables that give a process this layout: other hashes, and addresses that are further on."""
    return {"PYTHONHASHSEED": str(layout), **{f"PADDING_{number}": "" for number in range(layout * _PADDING)}}


def count_again(
    counts: Counts, count: Callable[[Sequence[str], int], Counts], find_suspects: Callable[[Counts], Sequence[str]]
) -> Counts:
    """Count the suspects with one layout after the other, until there are none or every layout was tried.

    :param counts: with the first layout
    :param count: counts these cases with this layout
    :param find_suspects: the cases that take too much
    :returns: the least of each case and stage
    """
    for layout in range(1, LAYOUTS):
        if not (suspects := find_suspects(counts)):
            break
        counts = take_least(counts, count(suspects, layout))
    return counts


def take_least(counts: Counts, others: Counts) -> Counts:
    """The lower count of each case and stage; a case that the others have not stays as it is."""
    return {case: _take_least(stages, others.get(case, stages)) for case, stages in counts.items()}


def _take_least(stages: Mapping[str, Count], others: Mapping[str, Count]) -> Mapping[str, Count]:
    return {stage: min(count, others[stage], key=lambda one: one.each) for stage, count in stages.items()}
