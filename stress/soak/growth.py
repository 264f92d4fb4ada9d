"""Whether an application grows: its memory, descriptors, threads and tasks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .evidence import Evidence, Sample
from .trend import quarter_growth, theil_sen

MIB = 1024 * 1024
HOUR = 3600.0
LONG_RUN = 600.0
"""Seconds from which on memory is judged by its slope."""
SETTLING = 0.2
"""The share of a run at its beginning in which memory may grow as it likes: modules load, buffers find their size."""
GROWTH_SHORT = 8 * MIB
SLOPE_LONG = 1 * MIB
"""Bytes per hour."""
GROWTH_NOISE = 2 * MIB
"""The most that a slope may come to over the whole run, however short: the steps in which memory is taken."""
LEAKED_DESCRIPTORS, LEAKED_THREADS, LEAKED_TASKS = 4, 2, 8
"""More than these at the end than at the beginning; connections and attempts under way come and go."""


def growth_of_memory(evidence: Evidence) -> Iterator[str]:
    """Whether the application takes more and more memory: a line if so."""
    samples = _running(evidence)
    if not samples:
        return
    began, seconds = samples[0].at, samples[-1].at - samples[0].at
    settled = [sample for sample in samples if sample.at >= began + SETTLING * seconds]
    if seconds < LONG_RUN:
        growth = quarter_growth([sample.rss for sample in settled])
        if growth > GROWTH_SHORT:
            yield f"{growth / MIB:.1f} MiB more at the end than at the beginning"
        return
    slope = theil_sen([sample.at / HOUR for sample in settled], [sample.rss for sample in settled])
    allowed = max(SLOPE_LONG, GROWTH_NOISE / (seconds / HOUR))
    if slope > allowed:
        yield f"{slope / MIB:.2f} MiB/h, {allowed / MIB:.2f} are allowed"


def leaks(evidence: Evidence) -> Iterator[str]:
    """The leaks: a line for each measure that is larger at the end than at the beginning."""
    measures: Mapping[str, tuple[Callable[[Sample], int], int]] = {
        "descriptors": (lambda sample: sample.descriptors, LEAKED_DESCRIPTORS),
        "threads": (lambda sample: sample.threads, LEAKED_THREADS),
        "tasks": (lambda sample: sample.tasks, LEAKED_TASKS),
    }
    for name, (measure, allowed) in measures.items():
        growth = quarter_growth([measure(sample) for sample in _running(evidence)])
        if growth > allowed:
            yield f"{growth:g} {name} more in the last quarter than in the first"


def _running(evidence: Evidence) -> list[Sample]:
    """Without the sample from after the agent's end."""
    return [sample for sample in evidence.samples if not sample.is_last]
