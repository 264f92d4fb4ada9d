"""The channel: where the application's threads hand records over, and where they wait for a verdict.

Theory of operation
-------------------
Records wait in a row, bounded by items and bytes. The reporter does not take them out, it *leases* them: a leased
record still counts against the bounds, and leaves only with a verdict (confirmed, dropped) or goes back to the head
(released). So whatever happens to the task that holds a lease, each record's fate is decided and counted.

The doorbell carries no record, only the news that the reader's condition may hold now; losing or doubling a ring is
harmless. A producer rings only when the reader asked for it:
on an empty channel it asks for a ring at the first record; while a batch fills, for a ring when the batch is full. The
ring goes through the loop's thread-safe notify, since the bell itself must not be touched by other threads.

The lock is held for a few statements, never across a wait or foreign code. It is re-entrant, because a signal handler
or a finaliser of the very thread that is inside may offer a record too. The interpreter runs those at calls only;
between any two calls inside the lock the counts are consistent, so such an offer nests without harm.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from ..acceleration import native
from ..backend import LoopNotifier
from ..ledger import Drop, Ledger, Refusal, SignalStatistics, named
from ..signals import Bounds, Overflow, Signal
from .batcher import Batcher
from .doorbell import Doorbell
from .record_queue import RecordQueue

_NEVER = math.inf
_LOOKS = 100


class Lease:
    """Records on their way to the collector. Exactly one verdict is given, the first; later ones do nothing.

    :ivar times: when each was offered, by the channel's clock
    :ivar numbers: of each among all that were offered, in order
    """

    def __init__(
        self, channel: Channel, records: Sequence[bytes], times: Sequence[float], numbers: Sequence[range], size: int
    ) -> None:
        self._channel = channel
        self.records = records
        self.times = times
        self.numbers = numbers
        self.size = size

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to decide."""
        return self not in self._channel.leases

    def confirm(self) -> None:
        """The collector has them."""
        self._channel.settle(self, None)

    def drop(self, reason: Drop, count: int | None = None) -> None:
        """Give them up, counted.

        :param count: how many of them, where the collector has the others; None: all
        """
        self._channel.settle(self, reason, count)

    def release(self) -> None:
        """Put them back to the head of the channel: they were provably not sent."""
        self._channel.restore(self)


class _Ring:
    """
    :ivar ring_at: how many records have to wait before the reader wants a ring; infinite: it wants none
    """

    def __init__(self) -> None:
        self.ring_at = _NEVER


if TYPE_CHECKING:
    ChosenRing = _Ring
else:
    ChosenRing = _Ring if native is None else native.Ring


class Channel(ChosenRing):
    """One signal's bounded hand-over from any thread to the one reporter."""

    def __init__(self, signal: Signal, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.signal = signal
        self.bounds = bounds
        self.clock = clock
        self._ledger = Ledger()
        self._queue = RecordQueue()
        self._held: int = 0  # records queued and in flight
        self._held_bytes: int = 0
        self._leased = 0  # those in flight
        self._leased_bytes = 0
        self.leases: set[Lease] = set()
        self._refuses: Refusal | None = None
        self._urgent = False
        self._notifier: LoopNotifier | None = None
        self.ring_at = _NEVER
        self._ring_at_bytes: float = _NEVER
        self._settled = anyio.Event()
        self._bell: Doorbell | None = None
        self._lock = threading.RLock()
        self._sources: tuple[Callable[[bool], object], ...] = ()

    # -- producers: any thread ----------------------------------------------------------------------------------------

    def offer(self, payload: bytes, at: float | None = None) -> bool:
        """Hand a record over. Never waits, never raises. False: refused, and counted with its reason.

        :param at: by the channel's clock, when the record was finished; now when left out
        """
        size = len(payload)
        bounds = self.bounds
        with self._lock:
            if self._refuses is not None:
                self._ledger.refuse(self._refuses)
                return False
            if size > bounds.max_item_bytes:
                self._ledger.refuse(Refusal.TOO_LARGE)
                return False
            if self._held >= bounds.max_items or self._held_bytes + size > bounds.max_bytes:
                self._make_room(size)
            ledger, put = self._ledger, self._queue.put
            entry = ([payload], [self.clock() if at is None else at], ledger.offered + 1, size)
            # looked at again, and without a call from here to `put`: a nested offer may have taken the room
            if self._held >= bounds.max_items or self._held_bytes + size > bounds.max_bytes:
                return self._overflow(payload, entry[1][0])
            ledger.offered += 1
            self._held += 1
            self._held_bytes += size
            put(entry)
            notify = self._pass_ring()
        if notify is not None:
            notify(self._ring)
        return True

    def _overflow(self, payload: bytes, at: float) -> bool:  # noqa: ARG002  (for those who have a place for it)
        """Decide on a record for which there is no room."""
        self._ledger.refuse(Refusal.FULL)
        return False

    def _pass_ring(self) -> LoopNotifier | None:
        """The way to ring, where the reader has asked for it."""
        queued, queued_bytes = self._held - self._leased, self._held_bytes - self._leased_bytes
        if queued < self.ring_at and queued_bytes < self._ring_at_bytes:
            return None
        self.ring_at = self._ring_at_bytes = _NEVER
        return self._notifier

    def offer_many(self, payloads: Sequence[bytes], times: Sequence[float]) -> None:
        """Hand records over that were finished one after the other, as `offer` does each of them."""
        count, size = len(payloads), sum(map(len, payloads))
        largest = size if size <= self.bounds.max_item_bytes else max(map(len, payloads))
        records, offered_at = [*payloads], [*times]
        bounds, ledger, put = self.bounds, self._ledger, self._queue.put
        with self._lock:
            is_taken = False
            while largest <= bounds.max_item_bytes and not is_taken:
                first = ledger.offered + 1
                entry = (records, offered_at, first, size)
                # without a call from here to `put`: a nested offer may have taken the room, or the numbers
                if self._refuses is not None or self._held + count > bounds.max_items:
                    break
                if self._held_bytes + size > bounds.max_bytes:
                    break
                if ledger.offered + 1 == first:
                    ledger.offered += count
                    self._held += count
                    self._held_bytes += size
                    put(entry)
                    is_taken = True
            notify = self._pass_ring() if is_taken else None
        if not is_taken:
            for payload, at in zip(payloads, times, strict=True):
                self.offer(payload, at)
        elif notify is not None:
            notify(self._ring)

    def add_source(self, pull: Callable[[bool], object]) -> None:
        """Add a function that puts pending records into the channel, see `Pending.encode`."""
        self._sources = (*self._sources, pull)

    def pull_pending(self, *, waits: bool = True) -> None:
        """Put the pending records into the channel. Called before each look, and never under the lock.

        :param waits: also wait for the records that another thread is encoding. The reader does not: it hears of them
            by a ring, and must not wait for a thread of the application
        """
        for pull in self._sources:
            pull(waits)

    def wake_reader(self) -> None:
        """Wake the reader if it waits for a first record: `pull_pending` will bring one in."""
        if self.ring_at <= 1:
            with self._lock:
                self.ring_at = self._ring_at_bytes = _NEVER
                notify = self._notifier
            if notify is not None:
                notify(self._ring)

    def refuse(self, reason: Refusal, count: int = 1) -> None:
        """Count records as offered and refused that could not be made, or were not needed."""
        with self._lock:
            self._ledger.refuse(self._refuses or reason, count)

    @property
    def is_open(self) -> bool:
        """Whether an offer now would be taken in, as far as can be known without the record: ask before encoding."""
        return self.has_room_for(0)

    def has_room_for(self, more: int) -> bool:
        """Whether an offer would be taken in after so many others: as `is_open`."""
        if self._refuses is not None:
            return False
        if self._held + more < self.bounds.max_items or self.bounds.overflow is Overflow.EVICT_OLDEST:
            return True
        with self._lock:
            return bool(self._queue) and self._is_expired()

    def drop_expired(self) -> bool:
        """Drop what waits too long already, as an offer to a full channel does. Whether there was any."""
        with self._lock:
            before = self._held
            self._expire()
            return self._held < before

    @property
    def is_entered(self) -> bool:
        """Whether this thread is inside of the lock: a finaliser or a signal handler has interrupted it."""
        # as `threading.Condition` asks its lock
        lock: Any = self._lock
        return bool(lock._is_owned())  # noqa: SLF001

    @property
    def held(self) -> int:
        """How many records wait or are under way."""
        return self._held

    @property
    def fill(self) -> float:
        """The share of its room that is taken, by records or by bytes, whichever is more."""
        bounds = self.bounds
        return max(self._held / bounds.max_items, self._held_bytes / bounds.max_bytes)

    @property
    def has_room_beside(self) -> bool:
        """Whether a record that finds no room here has some elsewhere, so that none need be shed."""
        return False

    @property
    def is_closed(self) -> bool:
        """Whether nothing is taken in any more, whatever the reason."""
        return self._refuses is not None

    def _has_room(self, size: int) -> bool:
        return self._held < self.bounds.max_items and self._held_bytes + size <= self.bounds.max_bytes

    def _make_room(self, size: int) -> None:
        """Drop the expired records, and by policy the oldest ones, until the record fits."""
        self._expire()
        while self.bounds.overflow is Overflow.EVICT_OLDEST and self._queue and not self._has_room(size):
            self._drop_head(Drop.EVICTED)

    # -- the reporter: the loop's thread ------------------------------------------------------------------------------

    def attach(self, notify: LoopNotifier | None) -> None:
        """Set the way into the loop of the reporter; None when nothing reads any more."""
        self._notifier = notify
        self._bell = Doorbell() if notify is not None else None

    def detach(self) -> None:
        """The loop of the reporter was closed: what waits there cannot be woken any more."""
        self._notifier = None
        self._settled = anyio.Event()
        self._bell = None

    async def wait_due(self, batcher: Batcher) -> bool:
        """Wait until a batch is due, with the channel attached. False: it is closed and empty. Cancellation leaves
        everything as it was."""
        assert self._bell is not None, "the channel is attached before it is read"  # noqa: S101
        while True:
            delay = self._until_due(batcher)
            if delay is None:
                return False
            if delay <= 0:
                return True
            if delay == math.inf:
                await self._bell.wait()
                continue
            with anyio.move_on_after(delay):
                await self._bell.wait()

    def _until_due(self, batcher: Batcher) -> float | None:
        # no ring meanwhile: what is pulled in here would ring, and the reader would look again at once
        self.ring_at = self._ring_at_bytes = _NEVER
        self.pull_pending(waits=False)
        with self._lock:
            if self._queue:
                return self._until_batch_due(batcher)
            # asked before the second look, or a record that comes in between would be missed
            self.ring_at = self._ring_at_bytes = 1
        self.pull_pending(waits=False)
        with self._lock:
            if self._queue:
                return self._until_batch_due(batcher)
            return None if self._refuses is not None else math.inf

    def _until_batch_due(self, batcher: Batcher) -> float:
        self.ring_at = self._ring_at_bytes = _NEVER
        if self._refuses is not None or self._urgent:
            return 0.0
        size = self._held_bytes - self._leased_bytes
        due = batcher.due_at(len(self._queue), size, self._queue.oldest_time)
        self.ring_at, self._ring_at_bytes = batcher.max_items, batcher.max_bytes
        return due - self.clock()

    def lease(self, max_items: int, max_bytes: int) -> Lease:
        """Take the oldest records, at least one if any waits; expired ones are dropped on the way."""
        self.pull_pending(waits=False)
        with self._lock:
            self._expire()
            records, times, numbers, size = self._queue.take(max_items, max_bytes)
            lease = Lease(self, records, times, numbers, size)
            if records:
                self.leases.add(lease)
            self._leased += len(records)
            self._leased_bytes += size
            self._urgent = self._urgent and bool(self._queue)
        return lease

    def settle(self, lease: Lease, reason: Drop | None, dropped: int | None = None) -> None:
        """Give a lease its verdict: confirmed, or dropped for a reason.

        :param dropped: how many of its records that reason concerns; None: all
        """
        count = len(lease.records)
        dropped = count if dropped is None else min(dropped, count)
        with self._lock:
            if not self._give_back(lease):
                return
            if reason is None:
                self._ledger.time(lease.times, self.clock())
                self._ledger.confirmed += count
            else:
                self._ledger.drop(reason, dropped)
                self._ledger.confirmed += count - dropped
            self._held -= count
            self._held_bytes -= lease.size
        self.wake_waiters()

    def restore(self, lease: Lease) -> None:
        """Put a lease's records back to the head, in the order in which they were offered."""
        with self._lock:
            if self._give_back(lease):
                # a lease taken before this one may have come back already
                self._queue.put_back(lease.records, lease.times, lease.numbers)
        self._ring()
        self.wake_waiters()

    def drop_queued(self, reason: Drop) -> int:
        """Give up everything that waits; returns how many records that were."""
        count = 0
        self.pull_pending()
        with self._lock:
            while self._queue:
                self._drop_head(reason)
                count += 1
        self.wake_waiters()
        return count

    def close(self, reason: Refusal = Refusal.SHUTDOWN) -> None:
        """Take nothing more in; what waits can still be leased. Closing is how the reporter learns of the end."""
        self.pull_pending()
        self._refuses = self._refuses or reason
        self._ring()

    def request_flush(self) -> None:
        """Let the next batch be due at once, whatever its size."""
        self._urgent = True
        self._ring()

    async def wait_settled(self) -> None:
        """Wait until some record got its verdict or came back."""
        await self._settled.wait()

    def is_settled(self, number: int) -> bool:
        """Whether each of the first `number` records offered was refused or has its verdict."""
        with self._lock:
            waiting = self._queue.oldest_number if self._queue else _NEVER
            return number < min(waiting, *(lease.numbers[0].start for lease in self.leases), _NEVER)

    def statistics(self) -> SignalStatistics:
        """The ledger of this instant."""
        self.pull_pending()
        with self._lock:
            found = self._look()
            for _ in range(_LOOKS):
                if found.offered == self._ledger.offered:
                    break
                # a finaliser or a signal handler offered a record meanwhile, so the two counts are of different moments
                found = self._look()
            return found

    def _look(self) -> SignalStatistics:
        ledger = self._ledger
        return SignalStatistics(
            self.signal, ledger.offered, named(ledger.refused), ledger.confirmed, named(ledger.dropped),
            self._held - self._leased, self._held_bytes - self._leased_bytes, self._leased,
            "on" if self._refuses is None else self._refuses.value, tuple(ledger.latency),
        )  # fmt: skip

    def after_fork_in_child(self) -> None:
        """In a forked child: the records belong to the parent, and so did a lock that may be held for ever."""
        self._lock = threading.RLock()
        self._notifier = None
        self._bell = None
        self._queue = RecordQueue()
        self.leases = set()
        self._held = self._held_bytes = self._leased = self._leased_bytes = 0
        self._ledger = Ledger()
        self._refuses = Refusal.FORKED

    def _give_back(self, lease: Lease) -> bool:
        if lease.is_settled:
            return False
        self.leases.discard(lease)
        self._leased -= len(lease.records)
        self._leased_bytes -= lease.size
        return True

    def _is_expired(self) -> bool:
        """Whether the oldest record is."""
        return self.clock() - self._queue.oldest_time > self.bounds.max_age

    def _expire(self) -> None:
        while self._queue and self._is_expired():
            self._drop_head(Drop.EXPIRED)

    def _drop_head(self, reason: Drop) -> None:
        size = len(self._queue.take_one())
        self._ledger.drop(reason)
        self._held -= 1
        self._held_bytes -= size

    def _ring(self) -> None:
        if self._bell is not None:
            self._bell.ring()

    def wake_waiters(self) -> None:
        """Wake the tasks that wait for verdicts."""
        settled, self._settled = self._settled, anyio.Event()
        settled.set()

    def __repr__(self) -> str:
        state = "open" if self._refuses is None else self._refuses.value
        return (f"<Channel {self.signal.value} {self._held - self._leased}+{self._leased}/{self.bounds.max_items}, "
                f"{self._held_bytes} bytes, {state}>")  # fmt: skip
