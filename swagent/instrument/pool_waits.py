"""The wait for a connection of a pool: a local span below what is active, named after the pool.

A call that gets a connection at once costs the question whether it has to wait. One that has to wait is measured, and
recorded if it took a millisecond or more: the span is made then, with the time at which the wait began. It has the
numbers of that moment: how many connections were in use, how many the pool allows, and how many others waited. While it
waits it is known by the same name to the time split, see `inspection.own_waits`.

Outside of any span a wait is only counted: the meter of those that wait now, see `self_meters.pools`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from time import monotonic
from types import CoroutineType
from typing import Any, NamedTuple

from ..built_in import unseen
from ..inspection.own_waits import note_own_wait
from ..record.limits import name_of, short
from ..record.suppression import suppress_instrumentation
from ..record.trace.context import active_span, current
from ..record.trace.model import SpanKind
from ..record.trace.span import Span
from ..self_meters.pools import POOLS, Read, Reading, WatchedPool
from .arguments import Args, Kwargs
from .call import end_call, note_failure, safely
from .looking import after_call
from .patches import Make, Patches
from .wrapping import Within

WORTH_A_SPAN = 0.001
"""Seconds."""
Acquired = tuple[Any, Reading]
"""A pool, and its reading; its label says where the connection that is waited for leads."""


class PoolKind(NamedTuple):
    """How the pools of a library are read."""

    is_full: Callable[[Any], object]
    """Gets the object whose method is called: whether the call has to wait. Asked in each call."""
    read: Read
    find: Callable[[Any, Args, Kwargs], Acquired] | None = None
    """Gets the object and the arguments, where the object is not the pool."""


class PoolWait:
    """A wait for a connection that is under way.

    :ivar name: as the span's
    """

    __slots__ = ("_began", "_reading", "_waiting", "_watched", "name")

    def __init__(self, pool: Any, reading: Reading, read: Read) -> None:
        self.name = name_of(f"pool {reading.label}")
        self._reading = reading
        self._watched: WatchedPool | None = POOLS.watch(pool, read)
        self._waiting = 0
        self.begin()

    def begin(self) -> None:
        """It is under way from now on."""
        if self._watched is not None:
            self._waiting = len(self._watched.waits)
            self._watched.waits.add(self)
        self._began = monotonic()

    def put_off(self) -> None:
        """It has not begun: it will when its coroutine runs, which it may never do."""
        if self._watched is not None:
            self._watched.waits.discard(self)

    def end(self, error: BaseException | None) -> None:
        """It is over.

        :param error: what the call for the connection has raised
        """
        took = monotonic() - self._began
        self.put_off()
        if took >= WORTH_A_SPAN and not suppress_instrumentation.get():
            self._record(error)

    def _record(self, error: BaseException | None) -> None:
        above = active_span(current.get())
        if above is None or not above.is_recorded:
            return
        span = Span(self.name, SpanKind.LOCAL, tags=self._tags()).start_below(above)
        span.start_time = span.epoch + self._began
        end_call(span, error)

    def _tags(self) -> tuple[tuple[str, str], ...]:
        label, in_use, _, limit = self._reading
        allowed = () if limit is None else (("pool.limit", str(limit)),)
        waiting = (("pool.waiting", str(self._waiting)),) if self._waiting else ()
        return (("pool", short(label)), ("pool.in_use", str(in_use)), *allowed, *waiting)


def around_acquire(kind: PoolKind) -> Make:
    """For `Patches.wrap`: the method of a pool by which a connection is taken. A plain function may give an awaitable,
    as one does that is decorated."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        make_it = _around_coroutine if inspect.iscoroutinefunction(call) else _around_plain
        return make_it(call, kind)

    return make


def watch_pools(patches: Patches, owner: Any, acquire: str, kind: PoolKind) -> None:
    """Record the waits for the pools of a class, and report its pools. A class that has no such method is left alone:
    the waits are lost then, and nothing else of the library."""
    if callable(getattr(owner, acquire, None)):
        patches.wrap(owner, acquire, around_acquire(kind))


def report_pools(patches: Patches, owner: Any, read: Read) -> None:
    """Report each pool of a class from its making on."""

    def made(pool: Any, *_: object) -> None:
        POOLS.watch(pool, read)

    patches.wrap(owner, "__init__", after_call(made))


def _begin(kind: PoolKind, owner: Any, args: Args, kwargs: Kwargs) -> PoolWait:
    pool, reading = kind.find(owner, args, kwargs) if kind.find is not None else (owner, kind.read(owner))
    return PoolWait(pool, reading, kind.read)


def _around_plain(call: Callable[..., Any], kind: PoolKind) -> Callable[..., Any]:
    is_full = kind.is_full

    def waiting_for_pool(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            has_to_wait = is_full(self)
        except BaseException as error:  # noqa: BLE001, RUF100  (the library's objects may have a will of their own)
            note_failure(is_full, error)
            has_to_wait = False
        wait = safely(_begin, kind, self, args, kwargs) if has_to_wait else None
        if wait is None:
            # most are called without arguments: to pass none on saves 900 of 3,000 instructions
            return call(self, *args, **kwargs) if args or kwargs else call(self)
        try:
            result = call(self, *args, **kwargs)
        except BaseException as error:
            safely(wait.end, error)
            raise
        if type(result) is CoroutineType:
            safely(wait.put_off)
            return _within(result, wait)
        safely(wait.end, None)
        return result

    return waiting_for_pool


def _within(result: Any, wait: PoolWait) -> Any:
    """A coroutine that awaits another one, under its name."""
    coroutine: Any = _awaited(Within(result), wait)
    coroutine.__name__, coroutine.__qualname__ = result.__name__, result.__qualname__
    return coroutine


async def _awaited(made: Within, wait: PoolWait) -> Any:
    safely(wait.begin)
    try:
        result = await made.awaitable
    except BaseException as error:
        safely(wait.end, error)
        raise
    safely(wait.end, None)
    return result


def _around_coroutine(call: Callable[..., Any], kind: PoolKind) -> Callable[..., Any]:
    is_full = kind.is_full

    async def waiting_for_pool(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            has_to_wait = is_full(self)
        except BaseException as error:  # noqa: BLE001, RUF100  (as above)
            note_failure(is_full, error)
            has_to_wait = False
        wait = safely(_begin, kind, self, args, kwargs) if has_to_wait else None
        if wait is None:
            return await call(self, *args, **kwargs)
        try:
            result = await call(self, *args, **kwargs)
        except BaseException as error:
            safely(wait.end, error)
            raise
        safely(wait.end, None)
        return result

    return waiting_for_pool


def _unread(_: object) -> Reading:
    raise NotImplementedError  # of the functions below, which are made for their code alone


for _around in (_around_plain, _around_coroutine):
    _made = _around(print, PoolKind(bool, _unread))
    note_own_wait(_made.__code__, "wait")
    # the code of the function that `Patches` puts in place
    note_own_wait(unseen(_made).__code__, "wait")
note_own_wait(_awaited.__code__, "wait")
