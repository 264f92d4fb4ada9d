"""Looks at each verdict as it is given: for exact latencies, and to make room for producers."""

from __future__ import annotations

import time
from array import array

from swagent import Agent
from swagent.ledger import Drop
from swagent.pipeline.channel import Channel, Lease
from swagent.signals import Signal

from .room import Room


class Watch:
    """Beside the channel of segments: asked after every verdict.

    :ivar latencies: seconds from finish to acknowledgement, one for each confirmed record
    :ivar last: when the last verdict was given, by `time.monotonic`
    """

    def __init__(self, agent: Agent) -> None:
        self.channel: Channel = agent._pipelines.channels[Signal.SEGMENT]  # type: ignore[union-attr]  # noqa: SLF001
        self._settle = self.channel.settle
        self.latencies = array("f")
        self.last = 0.0
        self._room: Room | None = None
        self.channel.settle = self._settle_watched  # type: ignore[method-assign]

    def begin(self, record_bytes: float) -> Room:
        """Forget what was. The room is that of the channel, by items and bytes."""
        self.latencies = array("f")
        bounds = self.channel.bounds
        self._room = Room(int(min(bounds.max_items, bounds.max_bytes / record_bytes)))
        return self._room

    def _settle_watched(self, lease: Lease, reason: Drop | None, dropped: int | None = None) -> None:
        is_first = not lease.is_settled
        self._settle(lease, reason, dropped)
        if not is_first:
            return
        self.last = now = time.monotonic()
        if reason is None:
            self.latencies.extend([now - at for at in lease.times])
        if self._room is not None:
            self._room.give(len(lease.records))
