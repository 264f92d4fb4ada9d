"""A channel that spills: what finds no room waits behind its queue, see `backlog`.

As long as anything is behind the queue, every new record goes behind that. So the order is that of the offers. A record
behind the queue is accepted, and counted as spilled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from ...backend import LoopNotifier
from ...ledger import Drop, Refusal, SignalStatistics
from ...signals import Bounds, Signal
from ..batcher import Batcher
from ..channel import Channel, Lease
from ..doorbell import Doorbell
from .backlog import Backlog
from .files import Found, SpillFile
from .records import Record

_BATCHES = 2
"""So many batches are brought back before their turn."""


class SpillingChannel(Channel):
    """
    :ivar backlog: what is behind the queue
    :ivar moves: rings for the task that moves records between the two
    :ivar wants_moves: whether that task wants a ring for the next record that goes behind the queue
    """

    def __init__(self, signal: Signal, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(signal, bounds, clock)
        self.backlog = Backlog()
        self.moves = Doorbell()
        self.wants_moves = False
        self._recovered = 0
        self._spills = True
        self._returns = True
        self._is_owed = False
        self._depth = 0

    # -- producers: any thread ----------------------------------------------------------------------------------------

    def offer(self, payload: bytes, at: float | None = None) -> bool:
        """As `Channel.offer`."""
        with self._lock:
            self._depth += 1
            try:
                is_taken = self._offer_behind(payload, at) if self._is_behind() else super().offer(payload, at)
            finally:
                # a signal handler may raise in there
                self._depth -= 1
            notify = self._take_owed()
        if notify is not None:
            notify(self._ring)
        return is_taken

    def offer_many(self, payloads: Sequence[bytes], times: Sequence[float]) -> None:
        """As `Channel.offer_many`."""
        with self._lock:
            self._depth += 1
            try:
                if self._is_behind():
                    for payload, at in zip(payloads, times, strict=True):
                        self.offer(payload, at)
                else:
                    super().offer_many(payloads, times)
            finally:
                self._depth -= 1
            notify = self._take_owed()
        if notify is not None:
            notify(self._ring)

    def has_room_for(self, more: int) -> bool:
        """As `Channel.has_room_for`."""
        if self._is_behind():
            return self._refuses is None and self.backlog.has_room(0)
        return super().has_room_for(more) or self.has_room_beside

    @property
    def has_room_beside(self) -> bool:
        """As `Channel.has_room_beside`."""
        return self._spills and self._refuses is None and self.backlog.has_room(self.bounds.max_item_bytes)

    @property
    def fill(self) -> float:
        """As `Channel.fill`. Where new records have to go behind the queue, and there is no room: full."""
        return 1.0 if self._is_behind() and not self.has_room_beside else super().fill

    def _is_behind(self) -> bool:
        return self._spills and self.backlog.count > 0

    def _offer_behind(self, payload: bytes, at: float | None) -> bool:
        if self._refuses is not None or len(payload) > self.bounds.max_item_bytes:
            self._ledger.refuse(self._refuses or Refusal.TOO_LARGE)
            return False
        return self._overflow(payload, self.clock() if at is None else at)

    def _overflow(self, payload: bytes, at: float) -> bool:
        ledger, backlog, size = self._ledger, self.backlog, len(payload)
        put = backlog.staged.append
        while True:
            record = Record(payload, at, ledger.offered + 1)
            is_taken = self._spills and backlog.has_room(size)
            # a nested offer may have taken the number, or the room
            if record.number == ledger.offered + 1:
                break
        if not is_taken:
            ledger.refuse(Refusal.FULL)
            return False
        ledger.offered += 1
        backlog.count += 1
        backlog.staged_bytes += size
        put(record)
        self._is_owed, self.wants_moves = self._is_owed or self.wants_moves, False
        return True

    def _pass_ring(self) -> LoopNotifier | None:
        # rung when the lock is free again
        self._is_owed = super()._pass_ring() is not None or self._is_owed
        return None

    def _take_owed(self) -> LoopNotifier | None:
        if not self._is_owed or self._depth:
            return None
        self._is_owed = False
        return self._notifier

    # -- the reporter: the loop's thread ------------------------------------------------------------------------------

    def _until_due(self, batcher: Batcher) -> float | None:
        delay = super()._until_due(batcher)
        return math.inf if delay is None and self._is_behind() and self._returns else delay

    def lease(self, max_items: int, max_bytes: int) -> Lease:
        """As `Channel.lease`."""
        lease = super().lease(max_items, max_bytes)
        self.moves.ring()
        return lease

    def settle(self, lease: Lease, reason: Drop | None, dropped: int | None = None) -> None:
        """As `Channel.settle`."""
        with self._lock:
            for numbers in () if lease.is_settled else lease.numbers:
                self.backlog.settle(numbers)
        super().settle(lease, reason, dropped)

    def drop_queued(self, reason: Drop) -> int:
        """As `Channel.drop_queued`. What is behind the queue stays there."""
        self._returns = False
        return super().drop_queued(reason)

    def is_settled(self, number: int) -> bool:
        """As `Channel.is_settled`."""
        with self._lock:
            return super().is_settled(number) and not (self._is_behind() and self.backlog.oldest_number <= number)

    def wake_waiters(self) -> None:
        """As `Channel.wake_waiters`."""
        super().wake_waiters()
        self.moves.ring()

    def detach(self) -> None:
        """As `Channel.detach`."""
        super().detach()
        self.moves = Doorbell()

    def after_fork_in_child(self) -> None:
        """As `Channel.after_fork_in_child`."""
        super().after_fork_in_child()
        self.backlog = Backlog()
        self._recovered = 0
        self._spills = self._is_owed = False
        self._depth = 0

    def _drop_head(self, reason: Drop) -> None:
        number = self._queue.oldest_number
        super()._drop_head(reason)
        self.backlog.settle(range(number, number + 1))

    def _look(self) -> SignalStatistics:
        return replace(super()._look(), spilled=self.backlog.count, recovered=self._recovered)

    def _ring(self) -> None:
        super()._ring()
        self.moves.ring()

    # -- the task that moves records: the loop's thread ---------------------------------------------------------------

    def room_for_return(self) -> tuple[int, int] | None:
        """How many records, and bytes, the queue takes from behind it now; None: it has enough to do."""
        bounds, queued = self.bounds, self._held - self._leased
        most = min(bounds.batch_items, bounds.max_items - self._held)
        most_bytes = min(bounds.batch_bytes, bounds.max_bytes - self._held_bytes)
        has_enough = queued >= _BATCHES * bounds.batch_items
        has_enough = has_enough or self._held_bytes - self._leased_bytes >= _BATCHES * bounds.batch_bytes
        if not self._returns or not self._spills or has_enough or most < 1 or most_bytes < bounds.max_item_bytes:
            return None
        return most, most_bytes

    def bring_back(self, file: SpillFile, records: Sequence[Record], position: int) -> None:
        """Put records of the first file into the queue, which are leased.

        :param position: where its next one stands
        """
        now = self.clock()
        with self._lock:
            shift = file.shift
            if shift is not None:
                records = [
                    Record(payload, min(now, at + shift), number)
                    for number, (payload, at, _) in enumerate(records, file.next_number)
                ]
            self.backlog.note_leased(file, len(records), position)
            self._put(records)
        self._ring()

    def bring_back_staged(self) -> bool:
        """Put the oldest of the records in memory into the queue: nothing is before them. Whether there was room."""
        room = self.room_for_return()
        if room is None or self.backlog.files or not self.backlog.staged:
            return False
        most, left = room
        with self._lock:
            records: list[Record] = []
            # of a copy: a nested offer may add to it
            for record in self.backlog.oldest_staged(most):
                left -= len(record.payload)
                if left < 0:
                    break
                records.append(record)
            self.backlog.drop_staged(len(records))
            self._put(records)
        self._ring()
        return True

    def _put(self, records: Sequence[Record]) -> None:
        for _, each in groupby(enumerate(records), lambda pair: pair[1].number - pair[0]):
            group = [record for _, record in each]
            payloads, times = [record.payload for record in group], [record.at for record in group]
            entry = (payloads, times, group[0].number, sum(map(len, payloads)))
            count, size, put = len(group), entry[3], self._queue.put
            # as long as they are counted there, a nested offer goes behind them; without a call among the counts
            put(entry)
            self.backlog.count -= count
            self._held += count
            self._held_bytes += size

    def next_staged(self, file: SpillFile) -> list[Record]:
        """The records in memory that a file has room for, the oldest. They stay there until `note_written`."""
        with self._lock:
            return self.backlog.next_staged(file)

    def note_written(self, file: SpillFile, records: Sequence[Record], size: int) -> None:
        """The oldest records in memory are in a file now.

        :param size: so many bytes more it has
        """
        with self._lock:
            self.backlog.note_written(file, records, size)

    def take_in(self, found: Found, shift: float) -> int:
        """Take over the file of a dead process: its records are offered, behind all others. Those that it has leased
        are ambiguous.

        :param shift: turns its times into those of this channel
        :returns: how many are ambiguous
        """
        file, lost = found.file, found.file.leased - found.file.settled
        with self._lock:
            ledger, more = self._ledger, file.count - file.leased
            ledger.offered += lost + more
            last = ledger.offered  # without a call in between: a nested offer takes a number, too
            if lost:
                ledger.drop(Drop.AMBIGUOUS, lost)
            self._recovered += lost + more
            file.shift, file.before, file.settled = shift, file.leased, file.leased
            file.numbers = range(last - more + 1, last + 1)
            self.backlog.take_in(file)
        self.moves.ring()
        return lost

    def lose_first(self) -> int:
        """Give up what is left of the first file, which cannot be read. Returns how many records that are."""
        with self._lock:
            file = self.backlog.files[0]
            count = file.count - file.leased
            file.count = file.leased
            self.backlog.close_first()
            self.backlog.count -= count
            self._ledger.drop(Drop.INTERNAL, count)
        self._ring()
        self.wake_waiters()
        return count

    def stop_spilling(self, reason: Drop) -> int:
        """Take nothing more behind the queue. Files stay where they are, and what is in memory only is dropped."""
        with self._lock:
            self._spills = False
            count = len(self.backlog.staged)
            self.backlog.drop_staged(count)
            self.backlog.count -= count
            if count:
                self._ledger.drop(reason, count)
        self._ring()
        self.wake_waiters()
        return count
