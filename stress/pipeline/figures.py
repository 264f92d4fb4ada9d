"""The arithmetic of the figures. Pure, but for the clock of the calibration."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

TOLERANCE = 0.15
"""How far a ratio may fall below the recorded one."""
_CALIBRATIONS = 7
_TURNS = 2000


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of some ordered values that this share of them does not exceed (nearest rank)."""
    if not ordered:
        raise ValueError("no values, so no percentile")
    rank = max(1, -(-len(ordered) * share // 1))
    return ordered[int(rank) - 1]


def calibrate() -> float:
    """CPU seconds of one turn of a fixed loop in Python, of the sort that encoding is: what this machine and this
    interpreter need for it now. Figures divided by it can be compared between machines."""
    best = float("inf")
    for _ in range(_CALIBRATIONS):
        began = time.process_time()
        for number in range(_TURNS):
            _turn(number)
        best = min(best, time.process_time() - began)
    return best / _TURNS


def _turn(number: int) -> bytes:
    parts: list[bytes] = []
    fields = {"number": number, "name": f"operation {number & 15}", "peer": "127.0.0.1:8080"}
    for name, value in fields.items():
        text = str(value).encode()
        parts.append(bytes((len(name), len(text) & 0x7F)))
        parts.append(name.encode())
        parts.append(text)
    return b"".join(parts)


def median(values: Iterable[float]) -> float:
    """The middle one; of an even number the lower middle."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def fallen(ratios: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """The faults of some ratios, where more is better: those that fell too far or were never recorded."""
    found = [f"{name}: never recorded, see --record" for name in ratios if name not in recorded]
    for name, before in recorded.items():
        now = ratios.get(name)
        if now is None:
            found.append(f"{name}: recorded, and not measured any more")
        elif now < before * (1 - TOLERANCE):
            found.append(f"{name}: {now:.3g}, which is {1 - now / before:.0%} below the recorded {before:.3g}")
    return found
