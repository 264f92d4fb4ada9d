"""Whether a comparison passes: nothing of ours lost, nothing of ours much slower than it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .contestants import CONTESTANTS
from .figures import Figures, Key
from .visit import Measurement

RECORDED = Path(__file__).parents[1] / "recorded.json"
TOLERANCE = 0.15

Ratios = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By handler, contestant and kind."""
_KINDS = {"per second": "rate", "per processor second": "requests for each second of processor time"}


@dataclass(frozen=True)
class Failure:
    """A contestant that could not be measured, and why."""

    contestant: str
    handler: str
    reason: str


def find_losses(measurements: Iterable[Measurement]) -> list[str]:
    """The records that a contestant did not deliver, or delivered twice, where it must deliver all; in words."""
    return [
        f"{each.contestant} on {each.handler}, round {each.number + 1}: {each.delivered.segments} of "
        f"{each.expected.segments} segments and {each.delivered.logs} of {each.expected.logs} logs delivered: "
        f"its rate is void"
        for each in measurements
        if CONTESTANTS[each.contestant].must_deliver and each.delivered != each.expected
    ]


def find_failures(failures: Iterable[Failure]) -> list[str]:
    """The failures of ours, and of the bare application; those of others are only shown."""
    return [
        f"{each.contestant} on {each.handler}: {each.reason}"
        for each in failures
        if CONTESTANTS[each.contestant].agent in ("swagent", "bare")
    ]


def find_regressions(figures: Mapping[Key, Figures], recorded: Ratios) -> dict[Key, str]:
    """Ratios too far below the recorded ones; in words. A figure without a record is not judged. Of the rounds the best
    counts: what disturbs a round may lower its ratio, and what made us slower lowers them all.

    Both kinds are judged: waiting costs no processor time, and where the application waits anyway processor time costs
    no rate. How much of its time an application waits is the machine's, too: where its processor time fills a core, no
    rate comes above what that core has room for, and the rate is judged by that.
    """
    found = {}
    for (contestant, handler), each in figures.items():
        was = {**recorded.get(handler, {}).get(contestant, {})}
        if "per second" in was:
            was["per second"] = min(was["per second"], each.room.median)
        said = [
            f"{contestant} on {handler}: {ratio:.3f} of the bare application's {_KINDS[kind]}, to be expected is "
            f"{was[kind]:.3f}, and more than {TOLERANCE:.0%} below that is a regression"
            for kind, ratio in _best_ratios(each).items()
            if kind in was and ratio < was[kind] * (1 - TOLERANCE)
        ]
        if said:
            found[contestant, handler] = "; ".join(said)
    return found


def _ratios(each: Figures) -> dict[str, float]:
    return dict(zip(_KINDS, (each.ratio.median, each.efficiency.median), strict=True))


def _best_ratios(each: Figures) -> dict[str, float]:
    return dict(zip(_KINDS, (each.ratio.high, each.efficiency.high), strict=True))


def find_unrecorded(figures: Mapping[Key, Figures], recorded: Ratios) -> list[str]:
    """The ratios that should be guarded and have no record to be judged by; in words."""
    return [
        f"{contestant} on {handler} has no recorded ratio: run with --record"
        for contestant, handler in figures
        if CONTESTANTS[contestant].must_deliver and contestant not in recorded.get(handler, {})
    ]


def read_recorded(path: Path = RECORDED) -> Ratios:
    """The recorded ratios; none where there is no file."""
    if not path.exists():
        return {}
    ratios: Ratios = json.loads(path.read_text())
    return ratios


def write_recorded(figures: Mapping[Key, Figures], path: Path = RECORDED) -> None:
    """Record the ratios of ours; what was not measured this time stays as it was."""
    ratios = {handler: {**each} for handler, each in read_recorded(path).items()}
    for (contestant, handler), each in figures.items():
        if CONTESTANTS[contestant].must_deliver:
            ratios.setdefault(handler, {})[contestant] = {
                kind: round(ratio, 3) for kind, ratio in _ratios(each).items()
            }
    path.write_text(json.dumps(ratios, indent=2, sort_keys=True) + "\n")


def find_doubts(measurements: Sequence[Measurement], most_steal: float = 0.02) -> list[str]:
    """The reasons to doubt a run: cores that the host took away, a generator that was the bottleneck; in words."""
    steal = max((each.steal for each in measurements), default=0.0)
    busy = max((rate.generator_busy for each in measurements for rate in each.fixed.values()), default=0.0)
    delay = max((rate.own_delay for each in measurements for rate in each.fixed.values()), default=0.0)
    found = []
    if steal > most_steal:
        found.append(f"the host took up to {steal:.1%} of a core away: measure again on a quiet machine")
    if busy > 0.7:
        found.append(
            f"the generator at a fixed rate took up to {busy:.0%} of its core, and may have been the bottleneck"
        )
    if delay > 1.0:
        found.append(f"the generator sent up to {delay:.1f} ms late (99th percentile of a run): latencies include that")
    return found
