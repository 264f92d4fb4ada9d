"""The intake: where finished records become bytes, a group at a time.

A record is encoded soon after it is finished, not at that very moment. Inside a request the processor's caches hold the
application's code and data, so the encoder costs twice as much there as in a loop of its own (measured). Therefore a
finished record is pending at first, which takes one append. A group of pending records is encoded at once: when there
are enough, and before anybody looks at the channel: its reader, its statistics, its end. Nobody can tell.

What is pending holds no more than a group, so the channel's bounds are as hard as they were.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from ..agent_log import RateLimitedLog
from ..ledger import Refusal
from ..record.trace.request import FinishedRequest
from .channel import Channel

T = TypeVar("T")
GROUP = 32
# Requests are many and small.
REQUESTS = 64
_FIELDS = len(FinishedRequest._fields)
_NOTHING = (None,) * (_FIELDS - 4)
_FULL = REQUESTS * _FIELDS


class Pending:
    """What is pending of one signal, and its way into the channel. Any thread."""

    def __init__(self, channel: Channel, limited: RateLimitedLog) -> None:
        self._channel = channel
        self._limited = limited
        self._pending: deque[Any] = deque()
        # re-entrant: encoding may set a finaliser or a signal handler going that looks at the channel
        self._lock = threading.RLock()
        self._is_encoding = False
        channel.add_source(self.encode)

    def encode(self) -> None:
        """Let the channel have what is pending."""
        if not self._pending:
            return
        with self._lock:
            if self._is_encoding:
                return  # from inside: the loop below will come to it
            self._is_encoding = True
            try:
                while self._pending:
                    self._encode_group()
            finally:
                self._is_encoding = False

    def after_fork_in_child(self) -> None:
        """In a forked child: the records belong to the parent, and so did a lock that may be held for ever."""
        self._lock = threading.RLock()
        self._is_encoding = False
        self._pending.clear()

    def _encode_group(self) -> None:
        raise NotImplementedError

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
        pending.append((record, self._clock()))
        if len(pending) >= GROUP:
            self.encode()
        else:
            # not for the first record only: two threads may each find the other's here
            self._channel.wake_reader()

    def _encode_group(self) -> None:
        record, at = self._pending.popleft()
        channel = self._channel
        if not channel.is_open:
            # asked before encoding, so that an overload costs as little as can be
            channel.refuse(Refusal.FULL)
            return
        try:
            payload = self._encode(record)
        except Exception as error:  # noqa: BLE001, RUF100  (a poison record fails alone)
            self._refuse_poison(error)
        else:
            channel.offer(payload, at)


class SegmentIntake(Pending):
    """Takes what becomes segments, in the order in which it is finished: requests, and segments that are made already.

    A request stands in one flat row, field by field: a tuple for each would be an object that the garbage collector
    counts. A segment stands in the same row, in the place of the client of request number 0.
    """

    def __init__(
        self,
        channel: Channel,
        encode: Callable[[Any], bytes],
        encode_request: Callable[[FinishedRequest, float], bytes | None],
        limited: RateLimitedLog,
    ) -> None:
        """
        :param encode: turns a segment and its spans into bytes; it may raise, which costs that segment only
        :param encode_request: takes a request, and what is to be added to its times for seconds since the epoch; None:
            it is not recorded. It may raise, too.
        """
        super().__init__(channel, limited)
        self._encode = encode
        self._encode_request = encode_request
        # no field of it is this one, and nothing but C runs between two fields
        parts: Iterator[Any] = iter(self._pending.popleft, self)
        self._oldest: Iterator[Any] = zip(*[parts] * _FIELDS, strict=False)

    def offer(self, segment: Any) -> None:
        """Hand a finished segment over, as `Intake.offer`."""
        now = self._channel.clock()
        self.offer_request((0, now, now, segment, *_NOTHING))

    def offer_request(self, finished: FinishedRequest | tuple[Any, ...]) -> None:
        """Hand a finished request over, as `Intake.offer`. A plain tuple will do."""
        pending = self._pending
        pending.extend(finished)
        if len(pending) >= _FULL:
            self.encode()
        else:
            self._channel.wake_reader()

    def _encode_group(self) -> None:
        channel, oldest = self._channel, self._oldest
        count = min(len(self._pending) // _FIELDS, REQUESTS)
        now = time.monotonic()
        epoch = time.time() - now
        to_channel = channel.clock() - now
        has_room = channel.has_room_for(count - 1)
        payloads: list[bytes] = []
        times: list[float] = []
        for finished in islice(oldest, count):
            if not has_room and not channel.has_room_for(len(payloads)):
                # asked before encoding, so that an overload costs as little as can be
                channel.refuse(Refusal.FULL)
                continue
            try:
                payload = self._encode_request(finished, epoch) if finished[0] else self._encode(finished[3])
            except Exception as error:  # noqa: BLE001, RUF100  (a poison record fails alone)
                self._refuse_poison(error)
                continue
            if payload is not None:
                payloads.append(payload)
                # a segment's is by the channel's clock already
                times.append(finished[2] + to_channel if finished[0] else finished[2])
        if payloads:
            channel.offer_many(payloads, times)
