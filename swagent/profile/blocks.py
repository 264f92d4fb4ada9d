"""Reports of blocked loops beside the spans: a meter, and an event now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ..record.events import Event, loop_blocked
from ..record.meters.samples import Sample, SingleSample
from .blocked_loop import Block

# Seconds between two events: a handler that blocks at each request would fill the list of events.
_EVENT_EVERY = 10.0
_MAX_FRAMES = 20
_OTHER = "other"


class Blocks:
    """The blocked loops of one agent."""

    def __init__(self, offer_event: Callable[[Event], object], clock: Callable[[], float] = time.monotonic) -> None:
        """:param clock: monotonic seconds"""
        self._offer_event = offer_event
        self._clock = clock
        self._totals: dict[str, float] = {}
        self._last_event = -math.inf
        self._since_last = 0

    def note(self, block: Block) -> None:
        """Count one, in the watchdog's thread."""
        frame = block.frame if block.frame in self._totals or len(self._totals) < _MAX_FRAMES else _OTHER
        self._totals[frame] = self._totals.get(frame, 0.0) + block.seconds * 1000
        self._since_last += 1
        now = self._clock()
        if now - self._last_event >= _EVENT_EVERY:
            count, self._since_last, self._last_event = self._since_last, 0, now
            self._offer_event(loop_blocked(block.ended_at, block.seconds, block.frame, count))

    def collect(self) -> list[Sample]:
        """How many milliseconds each place in the code has held a loop since the start."""
        return [SingleSample("loop_blocked", (("frame", frame),), total) for frame, total in [*self._totals.items()]]
