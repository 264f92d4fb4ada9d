"""A finding: one thing that is amiss, or one thing that had most of a trace's time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import quote, urlencode

Kind = Literal[
    "slow_dependency", "slow_way", "slow_own_code", "time_without_span", "slow_wait", "pool", "lock", "blocked_loop",
    "busy_loop", "n_plus_one", "sequential_awaits", "cancelled", "retry_storm", "error_chain", "regression",
    "hot_attribute", "queue_latency", "loop_runs", "losses",
]  # fmt: skip
Confidence = Literal["high", "medium", "low"]
MOST_PLACES = 20
"""Spans that a finding names as its evidence."""


class Place(NamedTuple):
    """A span of a trace, by its names in an answer."""

    trace_id: str
    span: str


class Baseline(NamedTuple):
    """How long an operation takes usually: the median of so many calls, in milliseconds."""

    p50: int
    calls: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is amiss.

    :ivar service: where it is; with `operation`, what it is about
    :ivar count: how often it was seen
    :ivar ms: milliseconds that it explains
    :ivar failures: failed requests that it explains
    :ivar share: of the time that it was looked for in, between 0 and 1
    :ivar link: the address on the page that shows the evidence
    """

    kind: Kind
    sentence: str
    service: str
    operation: str
    confidence: Confidence
    link: str
    count: int = 1
    ms: int = 0
    failures: int = 0
    share: float = 0.0
    peer: str = ""
    frame: str = ""
    places: tuple[Place, ...] = field(default=())
    baseline: Baseline | None = None

    @property
    def subject(self) -> tuple[str, str, str]:
        """There is one finding of a kind and an operation."""
        return self.kind, self.service, self.operation


def trace_link(place: Place) -> str:
    """The address of a span on the page."""
    return f"#/traces/{quote(place.trace_id, safe='')}?{urlencode({'span': place.span})}"


def view_link(view: str, **query: str) -> str:
    """The address of a view on the page."""
    return f"#/{view}?{urlencode(query)}" if query else f"#/{view}"
