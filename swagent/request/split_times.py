"""Where the time of one request went, as it travels with the finished request: whole milliseconds, and texts.

A request that needs no span has these in one field of its row, and so stays on the fast path. They are few numbers, and
the same ones come again and again: each combination is kept once, and is no object more for the garbage collector.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..record.bounded_cache import BoundedCache

Tag = tuple[str, str]


class SplitTimes(NamedTuple):
    """Milliseconds of the states of a request. See `profile/light_clock.py` for what they mean, and
    `wsgi/thread_clock.py` where a thread serves the request."""

    running: int
    ready: int | None
    """None: it is not known, and a part of `awaiting`. So it is where a thread serves the request."""
    awaiting: int
    collected: int | None
    """None: this interpreter does not say how long it collected garbage."""
    awaited: str
    """The awaited things, as JSON; empty: there was no wait that is worth a name."""

    def tags(self) -> tuple[Tag, ...]:
        """As tags of the entry span."""
        running, ready, awaiting, collected, awaited = self
        tags: tuple[Tag, ...] = (_RUNNING[running], _AWAITING[awaiting])
        if ready is not None:
            tags = (tags[0], _READY[ready], tags[1])
        if collected is not None:
            tags = (*tags, _COLLECTED[collected])
        return (*tags, ("time.awaited", awaited)) if awaited else tags


class Clock(Protocol):
    """The clock of one request whose time is split."""

    def stop(self, now: float) -> SplitTimes | None:
        """Stop. A second stop changes nothing.

        :param now: the monotonic time
        :returns: None: they are not known after all
        """
        ...

    def more_tags(self) -> tuple[Tag, ...]:
        """Further tags of the request, once the clock has stopped. Only a request that has a span is asked."""
        ...

    def throws_here(self) -> bool:
        """Whether an exception is being thrown into the request's own task, and this is that task. The interpreter's
        stack does not show the task then."""
        ...


def _tags_of(key: str) -> BoundedCache[int, Tag]:
    return BoundedCache(lambda milliseconds: (key, str(milliseconds)))


_RUNNING, _READY, _AWAITING, _COLLECTED = map(_tags_of, ("time.running", "time.ready", "time.awaiting", "time.gc"))

SPLIT_TIMES: BoundedCache[tuple[int, int | None, int, int | None, str], SplitTimes] = BoundedCache(
    lambda fields: SplitTimes(*fields)
)
"""Each combination once."""
