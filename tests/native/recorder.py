"""All that an agent records with, and no task that empties its channels: a block's records are looked at by hand."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, cast

from swagent import Config
from swagent.agent import Agent
from swagent.agent_log import RateLimitedLog
from swagent.pipeline.encoder import Encoder
from swagent.pipeline.failover import Failover
from swagent.pipeline.pipelines import Pipelines
from swagent.pipeline.route import Route
from swagent.runtime.recording import Recording
from swagent.signals import Signal
from swagent.testing import MemoryCollector

# anyio's cancellation names its scope by its address, which is another one in the other process
_SCOPE = re.compile(rb"cancel scope [0-9a-f]{12}")
_KINDS = {Signal.SEGMENT: "s", Signal.LOG: "l"}


class Recorder:
    """Takes records in from `begin` to `end`.

    :ivar agent: what the middlewares are given
    """

    def __init__(self, codec: Any, **settings: Any) -> None:
        self.config = Config(**settings)
        transport = MemoryCollector(codec).transport
        limited = RateLimitedLog()
        route = Route([], Failover(0, lambda: 0.5), time.monotonic, limited)
        self._pipelines = Pipelines(self.config, transport, route, time.monotonic, limited)
        encoder = Encoder(codec, self.config.service_name, self.config.instance)
        self.recording = Recording(self.config, self._pipelines, encoder, limited, lambda: 0)
        self.agent = cast("Agent", _Agent(self))

    def begin(self) -> None:
        """Take records in."""
        self.recording.begin()

    def end(self) -> None:
        """Take nothing more in: spans that are open are sent as they are."""
        self.recording.end()

    def leave_to_parent(self) -> None:
        """In a forked child, what an agent does there."""
        self.recording.after_fork_in_child()
        self._pipelines.after_fork_in_child()

    def drain(self) -> Iterator[tuple[str, bytes]]:
        """The records that have come into the channels since the last look, in their order; it is confirmed."""
        for signal, kind in _KINDS.items():
            lease = self._pipelines.channels[signal].lease(1_000_000, 1 << 40)
            yield from ((kind, _SCOPE.sub(b"cancel scope 000000000000", record)) for record in lease.records)
            lease.confirm()

    def ledger(self) -> str:
        """The counts, without times."""
        found = [self._pipelines.channels[signal].statistics() for signal in _KINDS]
        counts = [(each.offered, dict(each.refused), each.confirmed, dict(each.dropped), each.queued) for each in found]
        return f"{counts}, incomplete {self.recording.tracer.incomplete}"


class _Agent:
    """The part of an agent that a middleware uses."""

    def __init__(self, recorder: Recorder) -> None:
        self.config = recorder.config
        self.tracer = recorder.recording.tracer
        self._recording = recorder.recording

    def watch_loop(self) -> None:
        """No: how long something held a loop depends on the machine."""

    def steps_here(self) -> Any:
        """As an agent that runs."""
        return self._recording.steps_here()
