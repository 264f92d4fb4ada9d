"""From what callgrind wrote to instructions a request, and from those to what each part costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from ..markdown import make_table
from .requests import BLOCK, CASES
from .stages import BARE, STAGES, WHOLE

_NAME = re.compile(r"^desc: Trigger: Client Request: (\S+) \d+$", re.MULTILINE)
_TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)


class CountError(Exception):
    """The counts make no figure; says why."""


@dataclass(frozen=True)
class Count:
    """The instructions of one case at one stage.

    :ivar blocks: of each block, in any order
    :ivar collections: how often the garbage collector ran meanwhile, by generation
    :ivar requests: of a block
    """

    blocks: Sequence[int]
    collections: Sequence[int] = (0, 0, 0)
    requests: int = BLOCK

    @property
    def each(self) -> int:
        """Of one request: the median block's. A full garbage collection in one of the blocks is not in it."""
        return round(median(self.blocks) / self.requests)

    @property
    def spread(self) -> int:
        """How far the blocks are apart, for one request."""
        return round((max(self.blocks) - min(self.blocks)) / self.requests)


Counts = Mapping[str, Mapping[str, Count]]
"""By case and stage."""


def read_blocks(folder: Path) -> Mapping[str, Sequence[int]]:
    """The instructions of each block of each case, from the files that callgrind wrote.

    :raises CountError: a file has no total
    """
    found: dict[str, list[int]] = {}
    for path in sorted(folder.iterdir()):
        text = path.read_text()
        name = _NAME.search(text)
        if name is None:
            continue  # what it writes at the end of the process
        totals = _TOTALS.search(text)
        if totals is None:
            raise CountError(f"{path.name} has no line of totals: callgrind did not finish it")
        found.setdefault(name[1], []).append(int(totals[1]))
    return found


def own(stages: Mapping[str, Count]) -> int:
    """The instructions that the agent adds to a request."""
    return stages[WHOLE].each - stages[BARE].each


def render(counts: Counts) -> str:
    """The tables: what a request takes, and what of it is which part's."""
    heads = [
        "",
        "bare",
        "with the agent",
        "the agent's own",
        "blocks apart, bare",
        "with the agent",
        "garbage collections",
    ]
    rows = [_row(case, stages) for case, stages in counts.items()]
    text = f"Instructions a request\n\n{make_table(heads, rows)}"
    cuts = [stage for stage in STAGES if all(stage in stages for stages in counts.values())]
    if len(cuts) <= 2:
        return text
    parts = [
        [STAGES[stage].part, *(f"{each[stage].each - each[earlier].each:+,}" for each in counts.values())]
        for earlier, stage in pairwise(cuts)
    ]
    sums = ["the agent's own", *(f"{own(each):+,}" for each in counts.values())]
    return f"{text}\n\nBy part\n\n{make_table(['', *counts], [*parts, sums])}"


def _row(case: str, stages: Mapping[str, Count]) -> Sequence[str]:
    bare, whole = stages[BARE], stages[WHOLE]
    collections = "/".join(map(str, whole.collections))
    numbers = (f"{bare.each:,}", f"{whole.each:,}", f"{own(stages):+,}", f"{bare.spread:,}", f"{whole.spread:,}")
    return [f"{case}: {CASES[case].meaning}", *numbers, collections]
