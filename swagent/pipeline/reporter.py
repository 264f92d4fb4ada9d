"""The reporter drives one signal's pipeline: channel, batch, route, transport, verdict."""

from __future__ import annotations

import logging
import math

import anyio
from anyio.abc import TaskGroup

from ..abc import Transport
from ..agent_log import RateLimitedLog, say
from ..backend import cancelled_natively, must_propagate
from ..errors import DeliveryError, RejectedError
from ..ledger import Drop
from .batcher import Batcher
from .channel import Channel, Lease
from .delivery import Policy, RetryBudget, Step
from .route import Route


class Reporter:
    """Sends what comes through one channel, several batches at a time over one connection."""

    def __init__(
        self, channel: Channel, route: Route, policy: Policy, limited: RateLimitedLog, in_flight: int = 4
    ) -> None:
        """:param in_flight: how many batches may be under way: while one waits for its verdict the next is sent"""
        bounds = channel.bounds
        self._channel = channel
        self._route = route
        self._policy = policy
        self._limited = limited
        self._batcher = Batcher(bounds.batch_items, bounds.batch_bytes, bounds.batch_delay)
        self._budget = RetryBudget()
        self._in_flight = in_flight
        self._rests_until = -math.inf

    async def run(self) -> None:
        """Report until the channel is closed and empty. If it is cancelled, the batches under way are dropped as
        ambiguous, so none of their records is without a verdict. The records that wait go on waiting."""
        is_over = False
        # a batch that came back unsent after the last lease needs another round
        while not is_over or self._channel.statistics().queued:
            try:
                async with anyio.create_task_group() as group:
                    is_over = False
                    await self._feed(group)
                    is_over = True
            finally:
                # a task that asyncio cancelled before its first turn never ran, and ended its group: nothing of its
                # lease was sent
                for lease in list(self._channel.leases):
                    lease.release()

    async def _feed(self, group: TaskGroup) -> None:
        # A loop full of tasks comes round seldom, once in some seconds with 10,000 of them. So all batches that may
        # leave do so in one turn, and a free slot is taken without giving up the turn.
        slots = anyio.Semaphore(self._in_flight, fast_acquire=True)
        while await self._channel.wait_due(self._batcher):
            await slots.acquire()
            left = self._rests_until - self._channel.clock()
            is_over = left <= 0 or await self._route.rest(left)
            transport = await self._route.wait_ready() if is_over else None
            if transport is None:
                self._channel.drop_queued(Drop.SHUTDOWN)
                return
            lease = self._channel.lease(self._batcher.max_items, self._batcher.max_bytes)
            group.start_soon(self._carry, lease, transport, slots)

    async def _carry(self, lease: Lease, transport: Transport, slots: anyio.Semaphore) -> None:
        try:
            await self._deliver(lease, transport)
        except BaseException as error:  # noqa: BLE001, RUF100  (a transport that breaks its contract must not stop the signal)
            if must_propagate(error):
                raise
            if isinstance(error, Exception):
                self._limited.warn("internal", "%s failed unexpectedly: %r", transport, error)
                lease.drop(Drop.INTERNAL)
            elif not cancelled_natively():
                self._limited.warn("internal", "a stray cancellation came out of %s: %r", transport, error)
        finally:
            # whatever ended the attempt without a verdict: bytes may have left
            lease.drop(Drop.AMBIGUOUS)
            slots.release()

    async def _deliver(self, lease: Lease, transport: Transport | None) -> None:
        if lease.is_settled:
            return
        started = self._channel.clock()
        attempt = 1
        while transport is not None:
            try:
                await self._route.call(transport.send, self._channel.signal, lease.records)
            except DeliveryError as error:
                self._note(transport, error)
                seconds = self._channel.clock() - started
                step = self._policy.decide(error, attempt, seconds, self._budget)
                refused = error.count if isinstance(error, RejectedError) else None
            else:
                self._budget.earn()
                lease.confirm()
                return
            if step is not Step.REPEAT:
                self._settle(lease, step, refused)
                return
            attempt += 1
            transport = None
            with anyio.move_on_after(self._policy.max_seconds - seconds):
                transport = await self._route.wait_ready()

    def _note(self, transport: Transport, error: DeliveryError) -> None:
        """Close the route, unless the collector is well and only refused this batch, or this kind of records."""
        signal = self._channel.signal.value
        say(logging.DEBUG, "%s did not confirm %s records: %r", transport, signal, error)
        if not isinstance(error, RejectedError) or (error.pause and not error.only_this_signal):
            self._route.failed(transport, error)
            return
        self._rests_until = self._channel.clock() + error.pause
        self._limited.warn(f"rejected {signal}", "%s rejected %s records: %s", transport, signal, error)

    def _settle(self, lease: Lease, step: Step, refused: int | None) -> None:
        if step is Step.RELEASE:
            lease.release()
        elif step is Step.DROP_REJECTED:
            lease.drop(Drop.REJECTED, refused)
        else:
            lease.drop(Drop.AMBIGUOUS)
