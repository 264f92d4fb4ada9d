"""Which segments are kept while their channel is nearly full. Pure: it knows neither channel nor clock.

Kept are segments with errors, those that are slower than nearly all of their endpoint, and the first of each endpoint.
Of the others, the ordinary ones, a share is kept, see `keep_rate`: the same traces in all services whose share is the
same. What is dropped is counted by endpoint.
"""

from __future__ import annotations

from typing import NamedTuple

from ..record.cardinality import OVERFLOW
from ..record.meters.samples import Sample, SingleSample
from .durations import Durations
from .keep_rate import KeepRate, place_of

MAX_ENDPOINTS = 256


class Outline(NamedTuple):
    """What decides about a segment."""

    endpoint: str
    trace_id: bytes
    seconds: float
    """How long its root took."""
    failed: bool
    """Whether one of its spans has failed."""


class _Endpoint:
    """
    :ivar shed: how many of its segments were dropped
    :ivar episode: the last time of pressure in which one was kept as its first
    """

    __slots__ = ("durations", "episode", "shed")

    def __init__(self) -> None:
        self.durations = Durations()
        self.shed = 0
        self.episode = 0


class Shedding:
    """Decides for one channel. One caller at a time; its meters can be read in any thread.

    :ivar pressure: the rate at which ordinary segments are kept; its owner looks before each group of segments
    """

    def __init__(self, max_endpoints: int = MAX_ENDPOINTS) -> None:
        """:param max_endpoints: how many endpoints are known; all others are one"""
        self.pressure = KeepRate()
        self._endpoints: dict[str, _Endpoint] = {}
        self._max_endpoints = max_endpoints

    def learn(self, outline: Outline) -> None:
        """Note how long a segment took, while nothing is dropped."""
        self._endpoint(outline.endpoint).durations.add(outline.seconds)

    def keeps(self, outline: Outline) -> bool:
        """Whether a segment is kept. One that is not is counted."""
        endpoint, pressure = self._endpoint(outline.endpoint), self.pressure
        is_first = endpoint.episode != pressure.episode
        matters = outline.failed or is_first or endpoint.durations.is_slow(outline.seconds)
        endpoint.episode = pressure.episode
        endpoint.durations.add(outline.seconds)
        is_kept = matters or place_of(outline.trace_id) < pressure.rate
        pressure.note(int(not matters), int(is_kept and not matters), int(matters))
        endpoint.shed += not is_kept
        return is_kept

    def collect(self) -> list[Sample]:
        """How many segments of each endpoint were dropped, as a meter. No sample where there were none."""
        shed = [(name, endpoint.shed) for name, endpoint in list(self._endpoints.items()) if endpoint.shed]
        return [SingleSample("swagent_segments_shed", (("endpoint", name),), float(count)) for name, count in shed]

    def _endpoint(self, name: str) -> _Endpoint:
        found = self._endpoints.get(name)
        if found is None:
            name = name if len(self._endpoints) < self._max_endpoints else OVERFLOW
            found = self._endpoints.setdefault(name, _Endpoint())
        return found
