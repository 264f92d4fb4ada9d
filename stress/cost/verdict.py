"""Against what was recorded: for each Python, what a request takes bare, and what the agent adds to it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from .figures import Counts, own
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


def find_regressions(counts: Counts, recorded: Recorded) -> Sequence[str]:
    """What takes more than was recorded, or has no record; in words."""
    return [text for case, stages in counts.items() if (text := _judge(case, own(stages), recorded.get(case)))]


def _judge(case: str, added: int, was: Mapping[str, int] | None) -> str:
    if was is None:
        return f"{case} has no recorded number for Python {this_python()}: record it with {_ANEW}"
    if added <= was["agent"] * (1 + TOLERANCE):
        return ""
    return (
        f"{case}: the agent adds {added:,} instructions to a request, recorded is {was['agent']:,}, and more than "
        f"{TOLERANCE:.0%} above that is a regression; where it is meant to be so, record it anew with {_ANEW}"
    )


def find_doubts(counts: Counts, recorded: Recorded) -> Sequence[str]:
    """What makes a reader doubt a comparison, and what should be recorded anew; in words."""
    found = []
    for case, stages in counts.items():
        was = recorded.get(case)
        if was is None:
            continue
        bare = stages[BARE].each
        if abs(bare - was["bare"]) > was["bare"] * _BARE_TOLERANCE:
            found.append(
                f"{case}: the bare application takes {bare:,} instructions, recorded is {was['bare']:,}: this is "
                "another build of Python, or other versions of its packages, than the one that was recorded"
            )
        if own(stages) < was["agent"] * (1 - TOLERANCE):
            found.append(
                f"{case}: the agent adds {own(stages):,} instructions only, recorded is {was['agent']:,}: hold what "
                f"was gained with {_ANEW}"
            )
    return found


def read_recorded(path: Path = RECORDED) -> Recorded:
    """What was recorded on this Python; nothing where there is no file."""
    return _read(path).get(this_python(), {})


def write_recorded(counts: Counts, path: Path = RECORDED) -> None:
    """Record these; what was not counted this time stays as it was."""
    pythons = {python: {**cases} for python, cases in _read(path).items()}
    cases = pythons.setdefault(this_python(), {})
    cases.update({case: {"bare": stages[BARE].each, "agent": own(stages)} for case, stages in counts.items()})
    path.write_text(json.dumps(pythons, indent=2, sort_keys=True) + "\n")


def _read(path: Path) -> Mapping[str, Recorded]:
    if not path.exists():
        return {}
    found: Mapping[str, Recorded] = json.loads(path.read_text())
    return found
