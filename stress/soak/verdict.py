"""The checks of the evidence. Pure: each check looks at one cell's evidence and says each violation in a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from swagent.signals import Signal

from .evidence import Counts, Evidence
from .growth import growth_of_memory, leaks
from .record_names import NUMBERED

LONGEST_RECOVERY = 45.0
"""Seconds: 31 of backoff, a call that hangs until its deadline, and the way to the next sample."""
LONGEST_STOP = 10.0
"""Seconds: 5.5 of the agent, and the server's own."""
QUIET = 29.5
"""Seconds in which a reason is logged once; half a second is for the clocks."""

_EXPLAINED: Mapping[Signal, frozenset[str]] = {
    Signal.SEGMENT: frozenset({"ambiguous", "expired"}),
    Signal.LOG: frozenset({"ambiguous", "expired"}),
    Signal.METER: frozenset({"ambiguous", "expired", "evicted"}),
    Signal.EVENT: frozenset({"ambiguous", "expired"}),
    Signal.PROFILE: frozenset({"ambiguous", "expired"}),
}


@dataclass(frozen=True)
class Violation:
    """One promise that was broken by one application."""

    cell: str
    clause: str
    text: str

    def __str__(self) -> str:
        return f"{self.cell}: {self.clause}: {self.text}"


def judge(evidence: Evidence) -> list[Violation]:
    """All that is wrong; nothing: all that was promised held."""
    cell = str(evidence.cell)
    return [Violation(cell, name, text) for name, check in CHECKS.items() for text in check(evidence)]


def _requests(evidence: Evidence) -> Iterator[str]:
    if not evidence.asked or evidence.answered != evidence.asked or evidence.failures:
        reasons = ", ".join(f"{count} x {reason}" for reason, count in evidence.failures.most_common(3))
        yield f"{evidence.asked} were asked, {evidence.answered} answered {reasons}"


def _identity(evidence: Evidence) -> Iterator[str]:
    if len(evidence.samples) < 4 or not evidence.samples[-1].is_last:
        yield f"there are {len(evidence.samples)} samples, and the last ought to be from after the agent's end"
    for signal in Signal:
        counts = [sample.ledgers.get(signal, Counts()) for sample in evidence.samples]
        wrong = [each for each in counts if not each.balanced]
        if wrong:
            yield f"{signal.value}: not in {len(wrong)} of {len(counts)} samples, such as {wrong[0]}"


def _offered(evidence: Evidence) -> Iterator[str]:
    for signal in NUMBERED:
        offered = evidence.last.get(signal, Counts()).offered
        if offered != evidence.answered:
            yield f"{offered} {signal.value}s offered, {evidence.answered} requests answered"


def _duplicates(evidence: Evidence) -> Iterator[str]:
    for signal, names in evidence.seen.items():
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            yield f"{len(twice)} {signal.value}s came more than once, such as {twice[:3]}"


def _lost(evidence: Evidence) -> Iterator[str]:
    for signal, names in evidence.confirmed.items():
        lost = names.keys() - evidence.seen.get(signal, {}).keys()
        if lost:
            yield f"{len(lost)} {signal.value}s were confirmed and never came, such as {sorted(lost)[:3]}"
        counted = evidence.last.get(signal, Counts()).confirmed
        if counted > len(names):
            yield f"the ledger says {counted} {signal.value}s confirmed, the transport {len(names)}"


def _unexplained(evidence: Evidence) -> Iterator[str]:
    for signal, counts in evidence.last.items():
        came = len(evidence.seen.get(signal, {}))
        ambiguous = counts.dropped.get("ambiguous", 0)
        if came > counts.confirmed + ambiguous:
            yield f"{came} {signal.value}s came, {counts.confirmed} were confirmed and {ambiguous} ambiguous"
        if signal in NUMBERED:
            strange = [name for name in evidence.seen.get(signal, {}) if not _was_asked(name, evidence.asked)]
            if strange:
                yield f"{len(strange)} {signal.value}s of no request came, such as {strange[:3]}"


def _was_asked(name: str, asked: int) -> bool:
    return name.isdecimal() and int(name) < asked


def _leftovers(evidence: Evidence) -> Iterator[str]:
    for signal, counts in evidence.last.items():
        if counts.queued or counts.in_flight:
            yield f"{signal.value}: {counts.queued} queued and {counts.in_flight} in flight after the end"
        for reason in (counts.dropped.keys() - _EXPLAINED[signal]) | (counts.refused.keys() - {"full", "shed"}):
            count = counts.dropped.get(reason, 0) + counts.refused.get(reason, 0)
            if count:
                yield f"{signal.value}: {count} given up as {reason}"


def _recovery(evidence: Evidence) -> Iterator[str]:
    if evidence.recovered is None or evidence.recovered > LONGEST_RECOVERY:
        yield f"records flowed {evidence.recovered} s after the last fault, {LONGEST_RECOVERY:g} are allowed"


def _output(evidence: Evidence) -> Iterator[str]:
    if evidence.complaints:
        yield f"{len(evidence.complaints)} lines, such as {evidence.complaints[:2]}"


def _log_lines(evidence: Evidence) -> Iterator[str]:
    begins: defaultdict[str, list[float]] = defaultdict(list)
    ends = 0
    for line in evidence.log:
        if line.level in ("WARNING", "ERROR", "CRITICAL"):
            # how many were left out is added to the form
            begins[line.form.partition(" (")[0]].append(line.at)
        elif line.form.startswith("reporting to"):
            ends += 1
    for form, at in begins.items():
        close = sum(later - earlier < QUIET for earlier, later in pairwise(at))
        if close:
            yield f"{close} times within 30 s of the one before: {form!r}"
    if ends > sum(map(len, begins.values())):
        yield f"{ends} lines say that trouble is over, and fewer say that it began"


def _stopping(evidence: Evidence) -> Iterator[str]:
    status, seconds = evidence.ending.status, evidence.ending.seconds
    if status not in (0, -15) or seconds > LONGEST_STOP:
        yield f"ended with {status} {seconds:.1f} s after SIGTERM"


CHECKS: Mapping[str, Callable[[Evidence], Iterator[str]]] = {
    "every request is answered": _requests,
    "the ledger balances": _identity,
    "one record a request": _offered,
    "nothing comes twice": _duplicates,
    "what is confirmed came": _lost,
    "what came is accounted for": _unexplained,
    "nothing is left, or given up without need": _leftovers,
    "it recovers": _recovery,
    "memory does not grow": growth_of_memory,
    "nothing leaks": leaks,
    "the output is clean": _output,
    "one line per reason": _log_lines,
    "it stops in time": _stopping,
}
