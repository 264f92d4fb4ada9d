"""The way to a collector that works, shared by all signals.

The heartbeat keeps it: it tries the collectors with a harmless call until one answers, and declares that one ready.
Records flow only while a collector is ready, so a peer that is absent, silent or hostile costs no record: records wait
in their channels, within their bounds. A task that sees a call fail reports it here. That closes the route, until the
heartbeat has opened it again. It tries the next collector of the list first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import anyio

from ..abc import Transport
from ..agent_log import RateLimitedLog
from ..backend import Runner
from ..errors import DeliveryError, RejectedError, RetryableError
from ..ledger import Losses
from .failover import Failover

T = TypeVar("T")


class Route:
    """Which transport to use now. Belongs to one event loop."""

    def __init__(
        self, transports: Sequence[Transport], failover: Failover, clock: Callable[[], float], limited: RateLimitedLog
    ) -> None:
        self.transports = transports
        self._failover = failover
        self._clock = clock
        self._limited = limited
        self._run: Runner | None = None
        self._ready: Transport | None = None
        self._changed = anyio.Event()
        self._last_tries: int | None = None
        self._second_chances = 3
        self._losses: Callable[[], Losses] = Losses
        self._before: Losses | None = None

    def watch(self, losses: Callable[[], Losses]) -> None:
        """Set the function that says what was lost. The log line at the end of an outage shows it."""
        self._losses = losses

    def attach(self, runner: Runner) -> None:
        """Set where the transports' coroutines run."""
        self._run = runner

    def after_fork_in_child(self) -> None:
        """In a forked child: the transports' connections belong to the parent, and are not touched any more."""
        self._run = _never

    async def call(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Await a method of a transport where it can run.

        :raises DeliveryError: what the transport raises, and RetryableError where there is no such place
        """
        if self._run is None:
            raise RetryableError("there is no event loop for the transports")
        return await self._run(function, *args)

    @property
    def has_given_up(self) -> bool:
        """Whether the agent is stopping and every collector has had its last try."""
        return self._last_tries is not None and self._last_tries <= 0

    async def rest(self, seconds: float) -> bool:
        """Wait so long, unless the agent stops. True: the time is over."""
        with anyio.move_on_after(seconds):
            while self._last_tries is None:
                await self._changed.wait()
            return False
        return True

    async def wait_ready(self) -> Transport | None:
        """Wait for a transport whose collector works. None: there will be none any more."""
        while self._ready is None:
            if self.has_given_up:
                return None
            await self._changed.wait()
        return self._ready

    async def wait_lost(self) -> None:
        """Wait until no collector is ready."""
        while self._ready is not None:
            await self._changed.wait()

    async def next_candidate(self) -> Transport | None:
        """Wait until some collector may be tried, and name it. None: no more tries."""
        while not self.has_given_up:
            index, delay = self._failover.choose(self._clock())
            if delay <= 0:
                return self.transports[index]
            with anyio.move_on_after(delay):
                await self._changed.wait()
        return None

    def opened(self, transport: Transport) -> None:
        """A collector answered: records may flow to it."""
        self._failover.confirmed(self._index(transport))
        self._ready = transport
        before, self._before = self._before, None
        if before is None:
            self._limited.over("collector", "reporting to %s", transport)
        else:
            waiting, refused, dropped = self._losses()
            text = "reporting to %s; since the outage began %d records were refused and %d dropped, and %d wait"
            lost = refused - before.refused, dropped - before.dropped
            self._limited.over("collector", text, transport, *lost, waiting)
        self._notify()

    def failed(self, transport: Transport, error: DeliveryError) -> None:
        """A call to the collector that is ready failed. If several calls were under way, only the first failure counts.
        A report on a collector that is no longer in use comes late, and is ignored."""
        if transport is self._ready:
            self._note(transport, error, was_ready=True)

    def not_opened(self, transport: Transport, error: DeliveryError) -> None:
        """The collector that `next_candidate` named did not answer."""
        self._note(transport, error, was_ready=False)

    def _note(self, transport: Transport, error: DeliveryError, *, was_ready: bool) -> None:
        is_local = isinstance(error, RejectedError) and error.only_this_signal
        pause = error.pause if isinstance(error, (RejectedError, RetryableError)) and not is_local else 0.0
        self._failover.failed(self._index(transport), self._clock(), pause)
        self._ready = None
        if self._last_tries is not None:
            self._count_down(was_ready)
        self._before = self._before or self._losses()
        self._limited.warn("collector", "no report to %s: %s; records wait within their bounds", transport, error)
        self._notify()

    def _count_down(self, was_ready: bool) -> None:
        """While the agent stops: a collector that answered and then failed a batch is tried again at once, a few times,
        for the sake of the other batches. A collector that did not answer has had its last try."""
        if was_ready and self._second_chances:
            self._second_chances -= 1
            self._failover.wake()
        else:
            self._last_tries = (self._last_tries or 0) - 1

    def drain(self) -> None:
        """The agent stops: skip all backoff and give every collector one last try."""
        if self._last_tries is None:
            self._last_tries = len(self.transports)
        self._failover.wake()
        self._notify()

    def give_up(self) -> None:
        """No collector is tried any more."""
        self._last_tries = 0
        self._notify()

    def _index(self, transport: Transport) -> int:
        return next(index for index, each in enumerate(self.transports) if each is transport)

    def _notify(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


async def _never(function: Callable[..., Awaitable[Any]], *args: Any) -> Any:  # noqa: ARG001  (a Runner)
    await anyio.sleep_forever()
