"""The agent of a run of tests: it records what the applications in this process do, and keeps it in memory.

One agent serves all tests, since an application that was made once holds on to the agent that it found. Between the
tests that ask for it the agent pauses: nothing finds it, and what comes is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from anyio.from_thread import start_blocking_portal

from swagent.agent import Agent
from swagent.collector.store.trace_records import Segment
from swagent.collector.store.trace_translation import decode_segment
from swagent.config import Config
from swagent.instrument import instrument, settings
from swagent.instrument.configured import settings_of
from swagent.profile.blocked_loop import Block
from swagent.record.suppression import suppress_instrumentation
from swagent.signals import Signal

from .budgets import Held, Recorded
from .conformance import MemoryCollector

LEAST_BLOCKED_MS = 25
"""Milliseconds for which a loop has to be held to be seen for sure."""
_PATIENCE = 30.0  # seconds: nothing is lost on a machine that is busy, and all goes to memory, so nothing takes long
_LOG = logging.getLogger("swagent")
_CONFIG = partial(
    Config,
    service="app",
    instance="test",
    loop_block_limit=LEAST_BLOCKED_MS / 2.5,
    time_split_every=1,
    task_tree_every=0,
    meter_reporter_active=False,
    pvm_meter_reporter_active=False,
    log_reporter_active=False,
    event_reporter_active=False,
    profile_active=False,
    plugin_sql_statements=True,
    trace_calls_outside_requests=True,
    log_level="ERROR",
    shutdown_timeout=1.0,
)


class _Window(MemoryCollector):
    """A collector that drops what comes while no test asks."""

    is_open = False

    async def take(self, signal: Signal, records: Sequence[bytes]) -> None:
        await super().take(signal, records if self.is_open else ())


class Recorder:
    """Records from `begin` to `end`, again and again, until `close`. One thread at a time calls it."""

    def __init__(self) -> None:
        self._collector = _Window()
        self._config = _CONFIG()
        self._segments: list[Segment] = []
        self._held: list[Held] = []
        # how many segments had been finished at the last look
        self._flushed = 0
        self._stack = ExitStack()
        self.agent = Agent(self._config, transport=self._collector.transport)
        instrument(config=self._config)
        self._portal = self._stack.enter_context(start_blocking_portal("asyncio"))
        level = _LOG.level
        self._portal.call(self._start)
        _LOG.setLevel(level)
        self.agent.follow_blocks(self._note)
        self.agent.pause()

    async def _start(self) -> None:
        suppress_instrumentation.set(True)
        await self.agent.start()

    async def _stop(self) -> None:
        level = _LOG.level
        _LOG.setLevel(logging.ERROR)
        await self.agent.stop()
        _LOG.setLevel(level)

    def _note(self, block: Block) -> None:
        if self._collector.is_open:
            self._held.append(Held(block.seconds * 1000, block.frame))

    def begin(self) -> None:
        """Record from now on."""
        self._settings = settings.current()
        settings.use(settings_of(self._config))
        self._flush()
        self._segments.clear()
        self._held.clear()
        self._collector.is_open = True
        self.agent.resume()

    def end(self) -> None:
        """Record no more. A second call does nothing."""
        if self._collector.is_open:
            self.agent.pause()
            self._collector.is_open = False
            settings.use(self._settings)

    def mark(self) -> tuple[int, int]:
        """How much was recorded until now: of `recorded`, the begin or the end of a part. Blocks for a moment."""
        self._flush()
        arrived = self._collector.records[Signal.SEGMENT]
        self._segments += map(decode_segment, arrived)
        arrived.clear()
        return len(self._segments), len(self._held)

    def _flush(self) -> None:
        """Wait until all that is finished has arrived."""
        offered = self.agent.pipelines.channels[Signal.SEGMENT].statistics().offered
        # where it gave up, the next look tries it once more
        if offered != self._flushed and self._portal.call(self.agent.flush, _PATIENCE):
            self._flushed = offered

    def finish(self) -> tuple[int, int]:
        """As `mark`, at the end of a test: spans that are open are taken as they are, and loops that were held have to
        be reported first. Not in a loop."""
        self.agent.wait_for_blocks(_PATIENCE)
        self.agent.tracer.finish_open_segments()
        return self.mark()

    def recorded(self, name: str, begin: tuple[int, int], end: tuple[int, int]) -> Recorded:
        """The records between two marks.

        :param name: of the test
        """
        return Recorded(name, self._segments[begin[0] : end[0]], self._held[begin[1] : end[1]])

    def watch_loop(self) -> None:
        """Watch the running loop for whether it is held."""
        self.agent.watch_loop()

    def close(self) -> None:
        """Stop the agent."""
        self.end()
        self.agent.resume()
        self._portal.call(self._stop)
        self._stack.close()
