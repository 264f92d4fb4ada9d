"""Bounds the number of distinct names of one kind that an agent reports: endpoints, or the peers of its calls.

The collector keeps metrics for each name, and the agent remembers each name. A client that makes up paths or
hosts could fill both. So the first names are kept for as long as the agent lives, and all later ones share one name.
"""

from __future__ import annotations

import threading

from ..agent_log import RateLimitedLog
from .meters.samples import Sample, SingleSample

OVERFLOW = "_overflow"


class CardinalityLimit:
    """The names of one kind. Any thread.

    :ivar known: the names that are kept; to be looked at only
    :ivar overflowed: how many records were given the name of the rest
    """

    __slots__ = ("_limit", "_limited", "_lock", "kind", "known", "overflowed")

    def __init__(self, kind: str, limit: int) -> None:
        """
        :param kind: what is named, in the plural, for a log line and a meter
        :param limit: how many there may be
        """
        self.kind = kind
        self.overflowed = 0
        self._limit = limit
        self.known: set[str] = set()
        self._limited = RateLimitedLog()
        # re-entrant: a signal handler or a finaliser may end a span while this thread is inside
        self._lock = threading.RLock()

    def keep(self, name: str, rest: str = OVERFLOW, *, from_client: bool = False) -> str:
        """The name itself, or that of the rest where there is no room for it.

        :param rest: the name of the rest
        :param from_client: whether the sender of a request chose the name. Such names take half of the room at most, so
            that some is left for the names in the application's code
        """
        if name in self.known:
            return name
        with self._lock:
            room = (self._limit + 1) // 2 if from_client else self._limit
            if len(self.known) < room:
                self.known.add(name)
                return name
            self.overflowed += 1
            is_first = self.overflowed == 1
        if is_first:
            self._limited.warn("full", "%d %s were reported; from now on new ones are called %s",
                               len(self.known), self.kind, rest)  # fmt: skip
        return rest

    def __contains__(self, name: str) -> bool:
        return name in self.known

    def collect(self) -> list[Sample]:
        """How many records got the name of the rest, as a meter. No sample while there is room."""
        labels = (("kind", self.kind),)
        return [SingleSample("swagent_names_overflow", labels, float(self.overflowed))] if self.overflowed else []

    def renew_lock(self) -> None:
        """In a forked child: a thread of the parent may have held the lock, and it would never be released."""
        self._lock = threading.RLock()
