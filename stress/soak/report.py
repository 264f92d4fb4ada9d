"""The report of a run, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from swagent.signals import Signal

from .evidence import Counts, Evidence
from .growth import MIB
from .plan import Step
from .verdict import Violation

_HEAD = ("application", "requests", "signal", "offered", "confirmed", "ambiguous", "other losses", "duplicates",
         "p50 / p99 calm, ms", "its p99 in halves, ms", "p50 / p99 in faults, ms", "RSS, MiB", "descriptors",
         "recovered, s")  # fmt: skip


def render_plan(seed: int, plan: Sequence[Step]) -> str:
    """The faults to come."""
    return "\n".join([f"seed {seed}, {len(plan)} faults:", *map(str, plan), ""])


def render(evidence: Iterable[Evidence], violations: Sequence[Violation]) -> str:
    """A table in Markdown, and the violations."""
    rows = [_HEAD, ["---"] * len(_HEAD), *(row for each in evidence for row in _rows(each))]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    verdict = [f"- {each}" for each in violations] or ["No violation."]
    return "\n".join([*lines, "", *verdict])


def _rows(evidence: Evidence) -> Iterable[Sequence[str]]:
    for signal, counts in evidence.last.items():
        if not counts.offered:
            continue
        is_first = signal is Signal.SEGMENT
        yield [
            str(evidence.cell) if is_first else "",
            f"{evidence.answered} / {evidence.asked}" if is_first else "",
            signal.value,
            str(counts.offered),
            str(counts.confirmed),
            str(counts.dropped.get("ambiguous", 0)),
            _losses(counts) or "0",
            str(sum(count - 1 for count in evidence.seen.get(signal, {}).values())),
            *(_process(evidence) if is_first else [""] * 6),
        ]


def _losses(counts: Counts) -> str:
    given_up = {**{f"refused {reason}": count for reason, count in counts.refused.items()}, **counts.dropped}
    return ", ".join(f"{count} {reason}" for reason, count in given_up.items() if reason != "ambiguous")


def _process(evidence: Evidence) -> list[str]:
    first, last = (evidence.samples[0], evidence.samples[-2]) if len(evidence.samples) > 1 else (None, None)
    return [
        _percentiles(evidence.calm),
        _halves(evidence.calm),
        _percentiles(evidence.troubled),
        f"{first.rss / MIB:.1f} → {last.rss / MIB:.1f}" if first and last else "?",
        f"{first.descriptors} → {last.descriptors}" if first and last else "?",
        "never" if evidence.recovered is None else f"{evidence.recovered:.1f}",
    ]


def _percentiles(seconds: Sequence[float]) -> str:
    if not seconds:
        return "-"
    ordered = sorted(seconds)
    return " / ".join(_millis(ordered, share) for share in (0.5, 0.99))


def _halves(seconds: Sequence[float]) -> str:
    """Whether requests got slower: the 99th percentile of those in the first half of the run, and in the second."""
    middle = len(seconds) // 2
    parts = [sorted(part) for part in (seconds[:middle], seconds[middle:]) if part]
    return " → ".join(_millis(part, 0.99) for part in parts) or "-"


def _millis(ordered: Sequence[float], share: float) -> str:
    """The seconds that this share of some ordered ones does not exceed, in milliseconds."""
    return f"{ordered[int(share * (len(ordered) - 1))] * 1000:.1f}"


def as_document(seed: int, plan: Sequence[Step], evidence: Iterable[Evidence], violations: Sequence[Violation]) -> Any:
    """The same for programs, as what JSON can hold."""
    cells: Mapping[str, Any] = {
        str(each.cell): {
            "asked": each.asked,
            "answered": each.answered,
            "segments": each.last.get(Signal.SEGMENT, Counts()).offered,
            "confirmed": each.last.get(Signal.SEGMENT, Counts()).confirmed,
            "profiles": each.last.get(Signal.PROFILE, Counts()).offered,
            "samples": len(each.samples),
            "duplicates": sum(count - 1 for names in each.seen.values() for count in names.values()),
            "violations": [str(violation) for violation in violations if violation.cell == str(each.cell)],
        }
        for each in evidence
    }
    return {"seed": seed, "faults": [str(step) for step in plan], "cells": cells}
