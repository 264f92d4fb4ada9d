"""asyncpg's cursors, with a place for their span: subclasses, since the originals have slots and no room for more."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ....record.trace.span import Span
from ...call import outer_call, safely, settle
from ...subclass import named_as
from ...wrapping import Within
from .sql_call import Database, begin_query
from .sql_error import end_query

Begin = Callable[[Any], "Span | None"]


def begin_cursor_by(name: str, database_of: Callable[[Any], Database]) -> Begin:
    """How the span of a cursor begins.

    :param name: the span's
    :param database_of: gets the connection
    """

    def begin(cursor: Any) -> Span | None:
        state = cursor._state  # noqa: SLF001
        statement = cursor._query if state is None else state.query  # noqa: SLF001
        return begin_query(name, database_of(cursor._connection), statement, cursor._args)  # noqa: SLF001

    return begin


def traced_iterator(base: Any, begin: Begin) -> Any:
    """The class to take the place of `CursorIterator`: one span from the first row to the last."""

    class CursorIterator(base):  # type: ignore[misc]
        __slots__ = ("_swagent_is_begun", "_swagent_span")

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._swagent_is_begun = False
            self._swagent_span: Span | None = None
            base.__init__(self, *args, **kwargs)

        def __anext__(self) -> Any:
            # not a coroutine function: rows are many, and most are here already
            is_here = self._swagent_is_begun and (self._swagent_span is None or len(self._buffer) > 1)
            return base.__anext__(self) if is_here else self._swagent_next()

        async def _swagent_next(self) -> Any:
            if not self._swagent_is_begun:
                self._swagent_is_begun = True
                self._swagent_span = safely(_begin_aside, begin, self)
            try:
                row = await base.__anext__(self)
            except BaseException as error:
                self._swagent_end(None if isinstance(error, StopAsyncIteration) else error)
                raise
            if self._exhausted and not self._buffer:
                self._swagent_end(None)
            return row

        def _swagent_end(self, error: BaseException | None) -> None:
            span, self._swagent_span = self._swagent_span, None
            if span is not None:
                settle(end_query, span, error)

        def __del__(self) -> None:
            # the application does not want the other rows
            self._swagent_end(None)
            base.__del__(self)

    return _named_as(base, CursorIterator)


def traced_cursor(base: Any, begin: Begin) -> Any:
    """The class to take the place of `Cursor`: a span when it is opened, and for each fetch."""

    class Cursor(base):  # type: ignore[misc]
        __slots__ = ("_swagent_is_inner",)

        async def _init(self, timeout: Any) -> Any:
            self._swagent_is_inner = outer_call() is not None
            return await self._swagent_recorded(Within(base._init(self, timeout)))  # noqa: SLF001

        # no coroutine functions, as asyncpg's: a connection that was released is refused at the call
        def fetch(self, *args: Any, **kwargs: Any) -> Any:
            return self._swagent_recorded(Within(base.fetch(self, *args, **kwargs)))

        def fetchrow(self, *args: Any, **kwargs: Any) -> Any:
            return self._swagent_recorded(Within(base.fetchrow(self, *args, **kwargs)))

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self._swagent_recorded(Within(base.forward(self, *args, **kwargs)))

        async def _swagent_recorded(self, call: Within) -> Any:
            # what was opened within another call belongs to that, as a result that SQLAlchemy streams
            span = None if self._swagent_is_inner else safely(begin, self)
            if span is None:
                return await call.awaitable
            try:
                result = await call.awaitable
            except BaseException as error:
                settle(end_query, span, error)
                raise
            span.stop()
            return result

    return _named_as(base, Cursor)


def _begin_aside(begin: Begin, cursor: Any) -> Span | None:
    """Begin what lasts: it is not the active span of what the application does meanwhile."""
    span = begin(cursor)
    if span is not None:
        span.step_aside()
    return span


def _named_as(base: Any, traced: Any) -> Any:
    traced.__module__, traced.__qualname__, traced.__doc__ = base.__module__, base.__qualname__, base.__doc__
    members: dict[str, Any] = traced.__dict__
    for name, member in members.items():
        original = getattr(base, name, None)
        if isinstance(member, FunctionType) and original is not None:
            named_as(original, member)
    return traced
