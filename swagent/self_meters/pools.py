"""The meters of the application's connection pools: how many connections are in use, idle, allowed, waited for.

A pool is watched from the moment at which its library makes it or something waits for it, for as long as it lives. It
is read when a report is made. Pools that lead to the same place count as one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ..forks import at_fork
from ..record.limits import short
from ..record.meters.samples import Sample, SingleSample

_MOST = 256
_MOST_LABELS = 64
_OVERFLOW = "_overflow"
_MAX_LABEL = 128


class Reading(NamedTuple):
    """A pool at a moment.

    :ivar label: where its connections lead: `host:port/database`
    :ivar limit: the most connections that it allows; None: there is no limit
    """

    label: str
    in_use: int
    idle: int
    limit: int | None


Read = Callable[[Any], Reading]


class WatchedPool:
    """One pool.

    :ivar waits: those for a connection of it that are under way. A set, whose changes need no lock
    """

    __slots__ = ("pool", "read", "waits")

    def __init__(self, pool: weakref.ref[Any], read: Read) -> None:
        self.pool = pool
        self.read = read
        self.waits: set[object] = set()


class Pools:
    """Those of the process. Any thread may watch one more."""

    def __init__(self) -> None:
        self._watched: dict[int, WatchedPool] = {}
        self._lock = threading.RLock()

    def watch(self, pool: Any, read: Read) -> WatchedPool | None:
        """Report a pool from now on. None: there are too many already, or it can be referred to by its owner only.

        :param read: called with the pool, in the thread of the agent
        """
        key = id(pool)
        known = self._watched.get(key)
        if known is not None:
            return known
        with self._lock:
            if key not in self._watched and len(self._watched) < _MOST:
                with suppress(TypeError):
                    self._watched[key] = WatchedPool(weakref.ref(pool, lambda _: self._watched.pop(key, None)), read)
            return self._watched.get(key)

    def collect(self) -> list[Sample]:
        """The samples of all. A pool that cannot be read is left out."""
        sums: dict[str, list[float]] = {}
        limits: dict[str, int] = {}
        for watched in list(self._watched.values()):
            pool = watched.pool()
            reading = _read(watched, pool) if pool is not None else None
            if reading is None:
                continue
            label = short(reading.label, _MAX_LABEL)
            if label not in sums and len(sums) >= _MOST_LABELS:
                label = _OVERFLOW
            values = sums.setdefault(label, [0.0, 0.0, 0.0])
            values[0] += reading.in_use
            values[1] += reading.idle
            values[2] += len(watched.waits)
            if reading.limit is not None:
                limits[label] = limits.get(label, 0) + reading.limit
        samples: list[Sample] = []
        for label, values in sums.items():
            named = zip(("in_use", "idle", "waiting"), values, strict=True)
            samples += [_sample(name, label, value) for name, value in named]
        return [*samples, *(_sample("limit", label, limit) for label, limit in limits.items())]

    def renew(self) -> None:
        """In a forked child: nothing waits there."""
        self._lock = threading.RLock()
        for watched in self._watched.values():
            watched.waits.clear()


def _sample(name: str, label: str, value: float) -> SingleSample:
    return SingleSample(f"swagent_pool_{name}", (("pool", label),), float(value))


def _read(watched: WatchedPool, pool: Any) -> Reading | None:
    try:
        return watched.read(pool)
    except Exception:  # noqa: BLE001, RUF100  (another thread changes it meanwhile, or it is half closed)
        return None


POOLS = Pools()
"""The pools of the process. Agents report them."""

at_fork(after_in_child=POOLS.renew)
