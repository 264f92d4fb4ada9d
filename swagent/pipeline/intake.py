"""The intake: where finished records become bytes, a group at a time.

A record is encoded soon after it is finished, not at that very moment. Inside a request the processor's caches hold the
application's code and data, so the encoder costs twice as much there as in a loop of its own (measured). Therefore a
finished record is pending at first, which takes one append. The pending records are encoded together: when there are
enough of them, and before any look at the channel, such as by its reader, by its statistics or at its end. So the delay
cannot be seen.

The pending records are no more than a group, so the channel's bounds are as hard as they were.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, Generic, Protocol, TypeVar, cast

from ..acceleration import native
from ..agent_log import RateLimitedLog
from ..ledger import Refusal
from ..request.finished import END, FIELDS, NO_FACTS, NO_REQUEST, NUMBER, SEGMENT, FinishedRequest
from .channel import Channel
from .relief import Relief

T = TypeVar("T")
R = TypeVar("R")
GROUP = 32
# Requests are many and small.
REQUESTS = 64
_FULL = REQUESTS * FIELDS


EncodePlain = Callable[[list[Any]], Sequence["bytes | None"]]
"""Encodes some segments, each with its spans; None in the place of each that is not plain."""


class RequestEncoding(Protocol):
    """How requests become bytes. An epoch, added to a request's times, gives seconds since the epoch."""

    def encode_alike(self, row: Sequence[Any], epoch: float) -> Sequence[bytes | None]:
        """Encode those requests of a row that are like earlier ones; None for each of the others. Never raises."""
        ...

    def encode(self, finished: Sequence[Any], epoch: float) -> bytes | None:
        """Encode one request, whatever it is like; None: it is not recorded. May raise."""
        ...


class Pending:
    """The pending records of one signal, and their way into the channel. Any thread."""

    def __init__(self, channel: Channel, limited: RateLimitedLog) -> None:
        self._channel = channel
        self._limited = limited
        self._pending: list[Any] = []
        # re-entrant: encoding may set a finaliser or a signal handler going that looks at the channel
        self._lock = threading.RLock()
        self._is_encoding = False
        channel.add_source(self.encode)

    def encode(self, waits: bool = True) -> None:
        """Let the channel have what is pending.

        :param waits: also wait for the records that another thread is encoding. Otherwise that thread encodes all
        """
        # in this order: what is pending no more is in the channel, or on its way
        if not self._pending and not self._is_encoding:
            return
        lock = self._lock  # in a child that is forked meanwhile there is another one
        # that thread needs the channel: one that was interrupted inside of the channel cannot wait for it
        if not lock.acquire(blocking=waits and not self._channel.is_entered):
            return
        try:
            if self._is_encoding:
                return  # from inside: the loop below will come to it
            self._is_encoding = True
            try:
                while self._pending:
                    self._encode_group()
            finally:
                self._is_encoding = False
        finally:
            lock.release()

    def after_fork_in_child(self) -> None:
        """In a forked child: the records belong to the parent, and so did a lock that may be held for ever."""
        self._lock = threading.RLock()
        self._is_encoding = False
        self._pending.clear()

    def _encode_group(self) -> None:
        raise NotImplementedError

    def _take(self, most: int) -> list[Any]:
        # new records are appended meanwhile, and nothing else removes any
        row = self._pending[:most]
        del self._pending[: len(row)]
        return row

    def _encode_each(
        self,
        records: Sequence[R],
        payloads: list[bytes | None],
        times: list[float],
        encode: Callable[[R], bytes | None],
    ) -> None:
        """Encode the records that are not encoded yet, and put the results of all into the channel."""
        channel = self._channel
        if not all(payloads):
            has_room, kept = channel.has_room_for(len(payloads) - 1), 0
            for record, payload, at in zip(records, tuple(payloads), tuple(times), strict=True):
                if payload is None and not has_room and not channel.has_room_for(kept):
                    # asked before encoding, so that an overload costs as little as can be
                    channel.refuse(Refusal.FULL)
                    continue
                try:
                    encoded = encode(record) if payload is None else payload
                except Exception as error:  # noqa: BLE001, RUF100  (a poison record fails alone)
                    self._refuse_poison(error)
                    continue
                if encoded is not None:
                    payloads[kept], times[kept] = encoded, at
                    kept += 1
            del payloads[kept:], times[kept:]
        if payloads:
            channel.offer_many(cast("list[bytes]", payloads), times)

    def _refuse_poison(self, error: Exception) -> None:
        """A record that cannot be encoded fails alone."""
        signal = self._channel.signal.value
        self._channel.refuse(Refusal.ENCODE_ERROR)
        self._limited.warn("encode", "a %s could not be encoded: %r", signal, error)


class Intake(Pending, Generic[T]):
    """Takes one signal's finished records."""

    def __init__(self, channel: Channel, encode: Callable[[T], bytes], limited: RateLimitedLog) -> None:
        """:param encode: may raise, which costs that record only"""
        super().__init__(channel, limited)
        self._encode = encode
        self._clock = channel.clock

    def offer(self, record: T) -> None:
        """Hand a finished record over. Never raises, never waits for longer than a group takes to encode."""
        pending = self._pending
        pending.extend((record, self._clock()))
        if len(pending) >= 2 * GROUP:
            self.encode()
        elif self._channel.ring_at <= 1:
            # not for the first record only: two threads may each find the other's here
            self._channel.wake_reader()

    def _encode_group(self) -> None:
        row = self._take(2 * GROUP)
        self._encode_each(row[0::2], [None] * (len(row) // 2), row[1::2], self._encode)


class SegmentIntake(Pending):
    """Takes what becomes segments, in the order in which it is finished: requests, and segments that are made already.

    Pending records are one list of fields: `request/finished.py` has its layout, for a request and
    for a segment. Going in is one call.
    """

    def __init__(
        self,
        channel: Channel,
        encode: Callable[[Any], bytes],
        requests: RequestEncoding,
        limited: RateLimitedLog,
        relief: Relief | None = None,
        encode_plain: EncodePlain | None = None,
    ) -> None:
        """
        :param encode: turns a segment and its spans into bytes; it may raise, which costs that segment only
        :param requests: encodes requests; it may raise for one of them, which costs that one only
        :param relief: spares the channel ordinary segments once it is nearly full; None: it takes what it can
        :param encode_plain: encodes those of a group of segments that are plain, at once; None: `encode` does it
        """
        super().__init__(channel, limited)
        self._encode = encode
        self._encode_plain = encode_plain
        self._requests = requests
        self.relief = relief
        if native is not None:
            # the one in C takes the fields of a request as C has them, without a tuple
            rows = native.Rows(self._pending, _FULL, self.encode, channel)
            self.offer_request = rows  # type: ignore[method-assign]
            self.offer = rows.offer_segment  # type: ignore[method-assign]

    def offer(self, segment: Any) -> None:
        """Hand a finished segment over, as `Intake.offer`."""
        now = self._channel.clock()
        # joined, which takes half as long as unpacking
        self.offer_request((NO_REQUEST, now, now, None, segment, None) + NO_FACTS)  # noqa: RUF005

    def offer_request(self, finished: FinishedRequest | tuple[Any, ...]) -> None:
        """Hand a finished request over, as `Intake.offer`. A plain tuple will do."""
        pending = self._pending
        pending.extend(finished)
        if len(pending) >= _FULL:
            self.encode()
        elif self._channel.ring_at <= 1:
            # not for the first record only: two threads may each find the other's here
            self._channel.wake_reader()

    def _encode_group(self) -> None:
        channel, row = self._channel, self._take(_FULL)
        if self.relief is not None:
            row = self.relief.spare(row)
            if not row:
                return
        now = time.monotonic()
        epoch = time.time() - now
        times: list[float] = row[END::FIELDS]
        if channel.clock is not time.monotonic:
            to_channel = channel.clock() - now
            # a segment's is by the channel's clock already
            times = [
                end + to_channel if number else end for number, end in zip(row[NUMBER::FIELDS], times, strict=True)
            ]
        payloads: list[bytes | None] = [None] * len(times)
        if channel.has_room_for(len(times) - 1):
            payloads = self._encode_alike(row, epoch)
        records = range(0, len(row), FIELDS)
        self._encode_each(records, payloads, times, lambda at: self._encode_one(row[at : at + FIELDS], epoch))

    def _encode_alike(self, row: list[Any], epoch: float) -> list[bytes | None]:
        """The requests of a row that are like earlier ones, and the plain segments; None for each of the others."""
        numbers: list[int] = row[NUMBER::FIELDS]
        if all(numbers):
            return [*self._requests.encode_alike(row, epoch)]
        alike: Iterator[bytes | None] = iter(())
        if any(numbers):
            of_requests = (row[at * FIELDS : (at + 1) * FIELDS] for at, number in enumerate(numbers) if number)
            alike = iter(self._requests.encode_alike([*chain.from_iterable(of_requests)], epoch))
        plain: Iterator[bytes | None] = repeat(None)
        if self._encode_plain is not None:
            segments = [each for number, each in zip(numbers, row[SEGMENT::FIELDS], strict=True) if not number]
            plain = iter(self._encode_plain(segments))
        return [next(alike if number else plain) for number in numbers]

    def _encode_one(self, finished: Sequence[Any], epoch: float) -> bytes | None:
        return self._requests.encode(finished, epoch) if finished[NUMBER] else self._encode(finished[SEGMENT])
