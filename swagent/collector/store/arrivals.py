"""Arrivals: how waiting callers learn of a new record, in whatever thread and event loop they are.

A waiter leaves a bell; an arrival rings each bell once and forgets it. So a flood of records costs a waiter one
wake-up per look, not one per record. The condition is looked at under the store's lock, in the same step as the
bell is left: no arrival fits between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import anyio

from swagent.backend import loop_notifier

from .records import Record

Listener = Callable[[Record], None]
Follower = Callable[[str], None]


class Arrivals:
    """Bells, rung once, and listeners, called for every record. Any thread."""

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        """:param lock: guards what conditions look at"""
        self._lock = lock
        self._bells: list[Callable[[], None]] = []
        self._listeners: list[Listener] = []
        self._followers: list[Follower] = []

    def announce(self, record: Callable[[], Record], trace: str | None = None) -> None:
        """Wake everybody. It is called without the lock, since listeners are foreign code.

        :param record: makes the record, where there is a listener for it
        :param trace: to which it belongs, where it is a segment
        """
        if not (self._bells or self._listeners or self._followers):  # a task that waits from now on sees the new record
            return
        with self._lock:
            bells, self._bells = self._bells, []
            listeners, followers = tuple(self._listeners), tuple(self._followers)
        for ring in bells:
            ring()
        if trace is not None:
            for follower in followers:
                follower(trace)
        if listeners:
            made = record()
            for listener in listeners:
                listener(made)

    def wake(self) -> None:
        """Let waiting tasks look again, though nothing has arrived."""
        with self._lock:
            bells, self._bells = self._bells, []
        for ring in bells:
            ring()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener(record)` called for each arrival; returns a function that ends the subscription."""
        with self._lock:
            self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def follow(self, follower: Follower) -> Callable[[], None]:
        """Have `follower(trace_id)` called for each segment; returns a function that ends it."""
        with self._lock:
            self._followers.append(follower)
        return partial(self._followers.remove, follower)

    async def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until the condition holds; False when it does not within `timeout` seconds."""
        notify = loop_notifier()
        with anyio.move_on_after(timeout):
            while True:
                event = anyio.Event()
                bell = partial(notify, event.set)
                with self._lock:
                    if condition():
                        return True
                    self._bells.append(bell)
                try:
                    await event.wait()
                finally:
                    self._take_down(bell)
        return False

    def _take_down(self, bell: Callable[[], None]) -> None:
        with self._lock:
            if bell in self._bells:
                self._bells.remove(bell)
