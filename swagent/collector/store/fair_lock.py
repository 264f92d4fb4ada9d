"""A lock that threads get in turn."""

from __future__ import annotations

import threading


class FairLock:
    """Like `threading.RLock`: a thread that has it may take it again.

    A query reads the database piece by piece: it takes the lock again a moment after it has released it. A thread that
    waits for an `RLock` needs longer than that to wake up, so the query has the lock again before, and the intake waits
    until the query ends. Here a thread that waits holds the place of the next one, and the query has to wait for that
    place.
    """

    def __init__(self) -> None:
        self._next = threading.Lock()
        self._lock = threading.Lock()
        self._owner = 0
        self._depth = 0

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if self._owner != thread:  # no other thread sets it to this value
            with self._next:
                self._lock.acquire()
            self._owner = thread
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._lock.release()
