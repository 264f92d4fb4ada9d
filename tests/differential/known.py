"""Differences that are known, with the reason for each.

The list is to be short. Each entry has a program that shows it, and a test runs that program: what shows no difference
any more is to be taken out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from differential.comparison import Difference


@dataclass(frozen=True)
class Known:
    """One difference.

    :ivar reason: why it is there
    :ivar worlds: where it is seen, as a regular expression
    :ivar line: of the program, as a regular expression
    :ivar place: in the observation, likewise
    :ivar agent: what is seen there with the agent, likewise
    :ivar witness: a world, and lines that show it
    """

    reason: str
    worlds: str
    witness: tuple[str, Sequence[str]]
    line: str = ""
    place: str = ""
    agent: str = ""

    def covers(self, world: str, difference: Difference) -> bool:
        """Whether this is the one."""
        return (
            re.fullmatch(self.worlds, world) is not None
            and re.search(self.line, difference.line) is not None
            and re.search(self.place, difference.place) is not None
            and re.search(self.agent, difference.agent) is not None
        )


KNOWN: tuple[Known, ...] = (
    Known(
        "A wrapper is a frame, and `warnings.warn(..., stacklevel=2)` counts frames: the warning is the same, but it "
        "names the wrapper's file.",
        worlds=".*",
        place=r"^warnings/\d+/2$",
        agent="^swagent/",
        witness=("urllib3", ("pool.urlopen('GET', 'nonsense')",)),
    ),
)


def unknown(world: str, differences: Sequence[Difference]) -> list[Difference]:
    """Those that no entry covers."""
    return [each for each in differences if not any(known.covers(world, each) for known in KNOWN)]
