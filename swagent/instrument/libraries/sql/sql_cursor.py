"""The hooks that drivers have in common: a span around a method that takes a statement.

The span ends with the method. Rows that a cursor fetches later, one by one from the server, are no part of it: between
them the application works, and it may never ask for the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....record.limits import as_text
from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...call import is_outermost
from ...patches import Make as Make
from ...wrapping import Begin as Begin
from ...wrapping import around_call
from .sql_call import Database, begin_query
from .sql_error import end_query

_STATEMENTS = ("query", "sql", "operation", "command", "statement")
_PARAMETERS = ("params", "args", "vars", "parameters", "params_seq", "vars_list")


def begin_by(name: str, database_of: Callable[[Any], Database | None]) -> Begin:
    """How the span of a method begins that takes a statement and its parameters.

    :param name: the span's
    :param database_of: gets the object whose method is called
    """

    def begin(self: Any, args: Args, kwargs: Kwargs) -> Span | None:
        statement = args[0] if args else _named(kwargs, _STATEMENTS)
        if type(statement) is not str and is_outermost():
            statement = _text_of(statement, self)
        parameters = args[1] if len(args) > 1 else _named(kwargs, _PARAMETERS) if kwargs else None
        return begin_query(name, database_of(self), statement, parameters)

    return begin


def begin_procedure_by(name: str, database_of: Callable[[Any], Database | None]) -> Begin:
    """How the span of a method begins that takes a procedure's name and its arguments."""

    def begin(self: Any, args: Args, kwargs: Kwargs) -> Span | None:
        procedure = args[0] if args else kwargs.get("procname")
        return begin_query(name, database_of(self), f"CALL {as_text(procedure)}", args[1] if len(args) > 1 else None)

    return begin


def begin_copy_by(name: str, database_of: Callable[[Any], Database | None]) -> Begin:
    """How the span of a method begins that writes its COPY itself."""
    return lambda self, _, __: begin_query(name, database_of(self), "COPY")


def around_query(begin: Begin) -> Make:
    """For `Patches.wrap`: a method whose call has a span."""
    return around_call(begin, fail=end_query)


def around_awaited_query(begin: Begin) -> Make:
    """The same for a method that gives an awaitable, and may be no coroutine function: one of Cython, or decorated."""
    return around_call(begin, fail=end_query, is_awaited=True)


def _text_of(statement: Any, cursor: Any) -> Any:
    """Of psycopg's composed statements and of template strings: what is sent, or the texts between the values."""
    compose = getattr(statement, "as_string", None)
    if compose is not None:
        return compose(cursor)
    texts: Any = getattr(statement, "strings", None)
    return statement if texts is None else "?".join(texts)


def _named(kwargs: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((kwargs[name] for name in names if name in kwargs), None)
