"""The begin and the end of each turn of an event loop, as the loop's own thread sees it.

A turn is the time between two waits for sockets and timers. trio calls instruments around its wait. asyncio's wait is
a method of its selector, in whose place a function is put that calls it. uvloop waits in C: there the steps of tasks
count, each of which the loop was given by `call_soon`. So a turn begins with such a call, and ends when the callbacks
that were given are over.

Only a loop that waits most of the time is looked at so, see `swagent.profile.watch_rest`: a turn more is a microsecond.
"""

from __future__ import annotations

import asyncio
import selectors
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable
from contextvars import Context
from typing import Any, Protocol

from . import asyncio_inside, uvloop_inside

Call = Callable[[], object]
_ABSENT = object()


class LoopTurns(Protocol):
    """Of one loop."""

    def enter(self, begin: Call, end: Call) -> bool:
        """Report from now on, in the loop's thread; this turn is under way. Whether that is possible.

        :param begin: called at the begin of each turn, in the loop's thread; it must not raise
        :param end: so, before it waits
        """
        ...

    def leave(self) -> None:
        """Report no longer. In another thread that is all; in the loop's thread all that was put in place is taken out.
        A second call does nothing."""
        ...


def turns_of_this_loop() -> LoopTurns | None:
    """The turns of the running loop; None: they cannot be seen."""
    # exported, and it does not raise as its public sister does
    loop = asyncio._get_running_loop()  # noqa: SLF001
    if loop is None:
        from .trio_turns import TrioTurns  # noqa: PLC0415, RUF100  (optional)

        return TrioTurns()
    if isinstance(loop, BaseEventLoop):
        selector = asyncio_inside.selector_of(loop)
        return _SelectorTurns(selector) if isinstance(selector, selectors.BaseSelector) else None
    # in debug mode a handle says where it was made, which would be here
    return _SoonTurns(loop) if uvloop_inside.is_uvloop(loop) and not loop.get_debug() else None


class _Hiding:
    """An attribute of one object that hides a method. It is a function, since calls of methods cost more."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner = owner
        self._name = name
        self._before: Any = _ABSENT
        self._is_put = False
        self.inner: Any = getattr(owner, name)
        self.begin: Call = _nothing
        self.end: Call = _nothing
        self._hiding = self.make()

    def make(self) -> Callable[..., object]:
        """The function: it calls `inner`, and `begin` and `end` as they are at the time."""
        raise NotImplementedError

    def enter(self, begin: Call, end: Call) -> bool:
        self.begin, self.end = begin, end
        if not self._is_put:
            known = self._owner.__dict__
            self._before, self.inner = known.get(self._name, _ABSENT), getattr(self._owner, self._name)
            known[self._name] = self._hiding
            self._is_put = True
        return True

    def leave(self) -> None:
        self.begin = self.end = _nothing
        known = self._owner.__dict__
        # where another one hides ours, ours stays, and only passes calls on
        if self._is_put and known.get(self._name) is self._hiding:
            self._is_put = False
            if self._before is _ABSENT:
                # another thread may leave at the same time, and the loop's thread may be in the middle of a call
                known.pop(self._name, None)
            else:
                known[self._name] = self._before


class _SelectorTurns(_Hiding):
    """asyncio's."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        super().__init__(selector, "select")

    def make(self) -> Callable[..., object]:
        def select(timeout: float | None = None) -> object:
            self.end()
            try:
                return self.inner(timeout)
            finally:
                self.begin()

        return select


class _SoonTurns(_Hiding):
    """uvloop's: the callbacks that the loop was given, up to the last one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._context = Context()
        self.is_begun = self.has_more = False
        super().__init__(loop, "call_soon")

    def enter(self, begin: Call, end: Call) -> bool:
        # the turn that is under way ends, too
        self.is_begun, self.has_more = True, False
        super().enter(begin, end)
        self.inner(self.look, context=self._context)
        return True

    def make(self) -> Callable[..., object]:
        def call_soon(*args: Any, **kwargs: Any) -> object:
            handle = self.inner(*args, **kwargs)
            self.has_more = True
            if not self.is_begun and self.begin is not _nothing:
                self.begin_one()
            return handle

        return call_soon

    def begin_one(self) -> None:
        self.is_begun, self.has_more = True, False
        self.begin()
        # functions are called in the order in which the loop was given them
        self.inner(self.look, context=self._context)

    def look(self) -> None:
        """All that was given up to the begin is over."""
        if self.has_more and self.begin is not _nothing:
            self.begin_one()
            return
        self.is_begun = False
        self.end()


def _nothing() -> None:
    """Where nothing is reported."""
