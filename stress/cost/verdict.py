"""Against what was recorded: for each Python, what a request takes bare, and what the agent adds to it.

Two builds of one version of Python differ by a tenth, in the agent's code as in the application's (measured). So what
is allowed to the agent follows the bare application, whose packages are pinned.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .figures import Count, Counts, own
from .implementation import PYTHON
from .stages import BARE

RECORDED = Path(__file__).parents[1] / "recorded_cost.json"
TOLERANCE = 0.1
_BARE_TOLERANCE = 0.03
_ANEW = "python -m stress cost --record"

Recorded = Mapping[str, Mapping[str, int]]
"""By case: `bare`, and `agent` for what the agent adds."""


def this_python() -> str:
    """Its minor version: another one takes other instructions."""
    return ".".join(platform.python_version_tuple()[:2])


def judge(
    counts: Counts, recorded: Recorded, counted: str = "a request", anew: str = _ANEW, *, is_guard: bool = True
) -> int:
    """Print the doubts, and the regressions to stderr.

    :param counted: the thing that takes so many instructions
    :param anew: the command that records
    :param is_guard: whether regressions count
    :returns: 1 where there are any; else 0
    """
    regressions = find_regressions(counts, recorded, counted, anew) if is_guard else ()
    for line in find_doubts(counts, recorded, anew):
        print(f"\n{line}", flush=True)
    for line in regressions:
        print(f"\n{line}", file=sys.stderr)
    return 1 if regressions else 0


def find_regressions(
    counts: Counts, recorded: Recorded, counted: str = "a request", anew: str = _ANEW
) -> Sequence[str]:
    """The cases that take more than was recorded, or have no record; in words.

    :param counted: the thing that takes so many instructions
    :param anew: the command that records
    """
    return [
        text for case, stages in counts.items() if (text := _judge(case, stages, recorded.get(case), counted, anew))
    ]


def find_suspects(counts: Counts, recorded: Recorded) -> Sequence[str]:
    """The cases that take more than was recorded."""
    return [case for case, stages in counts.items() if case in recorded and _is_more(stages, recorded[case])]


def _judge(case: str, stages: Mapping[str, Count], was: Mapping[str, int] | None, counted: str, anew: str) -> str:
    if was is None:
        return f"{case} has no recorded number for Python {this_python()}: record it with {anew}"
    if not _is_more(stages, was):
        return ""
    recorded = _say(_expected(stages, was), was)
    return (
        f"{case}: the agent adds {own(stages):,} instructions to {counted}, {recorded}, and more than "
        f"{TOLERANCE:.0%} above that is a regression; where it is meant to be so, record it anew with {anew}"
    )


def _is_more(stages: Mapping[str, Count], was: Mapping[str, int]) -> bool:
    return own(stages) > _expected(stages, was) * (1 + TOLERANCE)


def _expected(stages: Mapping[str, Count], was: Mapping[str, int]) -> int:
    """The recorded number, converted to this build of Python."""
    return round(was["agent"] * stages[BARE].each / was["bare"])


def _say(expected: int, was: Mapping[str, int]) -> str:
    is_other = abs(expected - was["agent"]) > was["agent"] * _BARE_TOLERANCE
    return f"recorded is {was['agent']:,}" + (f", which is {expected:,} on this build of Python" if is_other else "")


def find_doubts(counts: Counts, recorded: Recorded, anew: str = _ANEW) -> Sequence[str]:
    """The reasons to doubt a comparison, and the cases that should be recorded anew; in words.

    :param anew: the command that records
    """
    found = []
    for case, stages in counts.items():
        was = recorded.get(case)
        if was is None:
            continue
        bare = stages[BARE].each
        if abs(bare - was["bare"]) > was["bare"] * _BARE_TOLERANCE:
            found.append(
                f"{case}: the bare application takes {bare:,} instructions, recorded is {was['bare']:,}: this is "
                "another build of Python than the one that was recorded, or another application"
            )
        expected = _expected(stages, was)
        if own(stages) < expected * (1 - TOLERANCE):
            found.append(
                f"{case}: the agent adds {own(stages):,} instructions only, {_say(expected, was)}: hold what was "
                f"gained with {anew}"
            )
    return found


def read_recorded(path: Path = RECORDED, implementation: str = PYTHON) -> Recorded:
    """The numbers recorded of this implementation on this Python; none where there is no file."""
    return _read(path).get(_key(implementation), {})


def write_recorded(counts: Counts, path: Path = RECORDED, implementation: str = PYTHON) -> None:
    """Record these; what was not counted this time stays as it was."""
    pythons = {python: {**cases} for python, cases in _read(path).items()}
    cases = pythons.setdefault(_key(implementation), {})
    cases.update({case: {"bare": stages[BARE].each, "agent": own(stages)} for case, stages in counts.items()})
    path.write_text(json.dumps(pythons, indent=2, sort_keys=True) + "\n")


def _key(implementation: str) -> str:
    return this_python() if implementation == PYTHON else f"{this_python()}, accelerated"


def _read(path: Path) -> Mapping[str, Recorded]:
    if not path.exists():
        return {}
    found: Mapping[str, Recorded] = json.loads(path.read_text())
    return found
