"""The intake: where finished records become bytes, a group at a time.

A record is encoded soon after it is finished, not at that very moment. Inside a request the processor's caches hold the
application's code and data, so the encoder costs twice as much there as in a loop of its own (measured). Therefore a
finished record is pending at first, which takes one append. A group of pending records is encoded at once: when there
are enough, and before anybody looks at the channel: its reader, its statistics, its end. Nobody can tell.

What is pending holds no more than a group, so the channel's bounds are as hard as they were.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from ..agent_log import RateLimitedLog
from ..ledger import Refusal
from .channel import Channel

T = TypeVar("T")
GROUP = 32


class Intake(Generic[T]):
    """One signal's door, open to any thread."""

    def __init__(self, channel: Channel, encode: Callable[[T], bytes], limited: RateLimitedLog) -> None:
        """:param encode: may raise, which costs that record only"""
        self._channel = channel
        self._encode = encode
        self._limited = limited
        self._pending: deque[tuple[T, float]] = deque()
        self._clock = channel.clock
        # re-entrant: encoding may set a finaliser or a signal handler going that looks at the channel
        self._lock = threading.RLock()
        self._is_encoding = False
        channel.pull_pending = self.encode

    def offer(self, record: T) -> None:
        """Hand a finished record over. Never raises, never waits for longer than a group takes to encode."""
        pending = self._pending
        pending.append((record, self._clock()))
        if len(pending) >= GROUP:
            self.encode()
        else:
            # not for the first record only: two threads may each find the other's here
            self._channel.wake_reader()

    def encode(self) -> None:
        """Let the channel have what is pending."""
        pending = self._pending
        if not pending:
            return
        with self._lock:
            if self._is_encoding:
                return  # from inside: the loop below will come to it
            self._is_encoding = True
            try:
                while pending:
                    self._encode_one(*pending.popleft())
            finally:
                self._is_encoding = False

    def _encode_one(self, record: T, at: float) -> None:
        channel = self._channel
        if not channel.is_open:
            # asked before encoding, so that an overload costs as little as can be
            channel.refuse(Refusal.FULL)
            return
        try:
            payload = self._encode(record)
        except Exception as error:  # noqa: BLE001, RUF100  (a poison record fails alone)
            channel.refuse(Refusal.ENCODE_ERROR)
            self._limited.warn("encode", "a %s could not be encoded: %r", channel.signal.value, error)
        else:
            channel.offer(payload, at)

    def after_fork_in_child(self) -> None:
        """In a forked child: the records belong to the parent, and so did a lock that may be held for ever."""
        self._lock = threading.RLock()
        self._is_encoding = False
        self._pending.clear()
