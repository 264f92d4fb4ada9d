"""The order of the findings over all that is kept; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .finding import Confidence, Finding, Kind

MOST = 50
"""Findings in an answer."""
_LOSS = 0.02
"""The weight of a loss beside shares of time and of requests."""
_COUNTS: Mapping[Confidence, float] = {"high": 1.0, "medium": 0.75, "low": 0.5}
"""How much of what a finding explains is believed: of two that explain about as much, the surer one is first."""
_HINTS: frozenset[Kind] = frozenset(("sequential_awaits",))
"""Kinds of which nothing is amiss: something could be quicker than usual."""


def ordered(found: Iterable[Finding], requests: int, ms: int) -> list[Finding]:
    """Those first that explain most, as far as they are sure, and hints last; of a kind and an operation the first.

    :param requests: in which they were looked for
    :param ms: milliseconds of these
    """

    def weight(finding: Finding) -> tuple[bool, float]:
        explained = finding.ms / max(ms, 1) + finding.failures / max(requests, 1)
        explained += _LOSS * (finding.kind == "losses")
        return finding.kind not in _HINTS, explained * _COUNTS[finding.confidence]

    kept: dict[tuple[str, str, str], Finding] = {}
    for finding in sorted(found, key=weight, reverse=True):
        kept.setdefault(finding.subject, finding)
    return list(kept.values())[:MOST]
