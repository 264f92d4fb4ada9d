"""The span of a query, the same for every driver.

Its name is the official agent's, such as `PostgreSQL/Psycopg/execute`. The statement is shown only where the user wants
it, and its parameters likewise; what kind of statement it is always is, and what it is about: `db.operation` is
`SELECT`, and `db.query.summary`, as OpenTelemetry calls it, `SELECT customers`.

The begin and the end of a transaction have no span, whichever way the application says it: a method of the connection,
a statement, or the driver by itself. It is no query, and there would be two or three spans for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ....acceleration import native
from ....record.bounded_cache import BoundedCache, remembered
from ....record.limits import address_of, as_text, short
from ....record.trace.model import Layer
from ....record.trace.span import Span
from ...call import begin_call, is_outermost
from ...settings import current
from .sql_summary import LOOKED_AT, summary_of

# Longer first words are no keywords of SQL.
_MAX_KEYWORD = 20
_MAX_START = 200
_SHOWN = 100
_DATABASE = Layer.DATABASE
# With less room there is none for a mark that says that something is cut.
_MARKED = 32
_OF_TRANSACTIONS = frozenset(("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"))


ON_CONNECTION = "_swagent_database"
"""The attribute of a connection that says where it leads."""


class Database(NamedTuple):
    """The database that a connection leads to."""

    peer: str
    component: int
    tags: tuple[tuple[str, str], ...]


@remembered(1024)
def database_at(type: str, component: int, host: str, port: object, instance: object = "") -> Database:  # noqa: A002, RUF100  (as the tag)
    """Describe a database. Remembered: most services have few.

    :param type: such as `PostgreSQL`
    :param host: its name, or the path of its socket
    :param port: None: the host says all
    :param instance: the database's name, where it has one
    """
    is_bare = ":" in host and not host.startswith(("[", "/"))
    peer = address_of(host if port is None else f"[{host}]:{port}" if is_bare else f"{host}:{port}")
    name = instance.decode("utf-8", "replace") if isinstance(instance, bytes) else as_text(instance or "")
    tags = (("db.type", type), *((("db.instance", short(name)),) if name else ()))
    return Database(peer, component, tags)


def begin_query(
    name: str, database: Database | None, statement: object = None, parameters: object = None
) -> Span | None:  # fmt: skip
    """Begin the span of a query. None: nothing is recorded here, or it is a part of another call, or of a transaction's
    frame.

    :param name: such as `Mysql/PyMsql/execute`
    :param database: None: it is not known, since the connection is closed
    :param statement: text, bytes, or what the driver takes; shown only where `sql_statements` is on
    :param parameters: shown only as far as `sql_parameters_max_length` says
    """
    if database is None:
        return None
    # foreign code is asked for a text only where the call has a span
    if type(statement) is not str and statement is not None and not is_outermost():
        return None
    settings = current()
    peer, component, tags = database
    if statement is not None:
        text = _text_of(statement)
        said = _SAID[text if len(text) <= LOOKED_AT else text[:LOOKED_AT]]
        if said is None:
            return None
        tags += said
        if settings.sql_statements:
            tags += (("db.statement", short(text)),)
    length = settings.sql_parameters_max_length
    if length > 0 and parameters and is_outermost():
        tags += (("db.sql.parameters", _shown(parameters, length)),)
    return begin_call(name, peer, _DATABASE, component, tags)


def keyword_of(statement: object) -> str:
    """The first word of a statement, in upper case; empty where it has none that is plain."""
    return _keyword(_text_of(statement)[:_MAX_START])


def _say(statement: str) -> tuple[tuple[str, str], ...] | None:
    """The operation and the tables of a statement, as tags without values. None: it is of a transaction's frame.

    :param statement: its beginning
    """
    keyword = _keyword(statement[:_MAX_START])
    if keyword in _OF_TRANSACTIONS:
        return None
    summary = summary_of(statement, keyword)
    tags = ("db.operation", keyword), ("db.query.summary", summary)
    return tuple(tag for tag in tags if tag[1])


_SAID: BoundedCache[str, tuple[tuple[str, str], ...] | None] = BoundedCache(_say)

if native is not None:
    native.configure_queries(
        database_type=Database, layer=_DATABASE, said=_SAID, settings=current.__globals__, otherwise=begin_query
    )
    if not TYPE_CHECKING:
        begin_query = native.begin_query


@remembered(1024)
def _keyword(start: str) -> str:
    start = start.lstrip(" \t\r\n(")
    while start.startswith(("--", "/*")):
        end, length = (start.find("\n"), 1) if start.startswith("--") else (start.find("*/"), 2)
        if end < 0:
            return ""
        start = start[end + length :].lstrip(" \t\r\n(")
    words = start[: _MAX_KEYWORD + 1].split(None, 1)
    word = words[0].rstrip(";") if words else ""
    return word.upper() if word.isalpha() and len(word) <= _MAX_KEYWORD else ""


def _shown(parameters: Any, length: int) -> str:
    # of executemany() there may be a million
    few: object = cast("Any", parameters)[:_SHOWN] if isinstance(parameters, (list, tuple)) else parameters
    text = as_text(few)
    return short(text, length) if length >= _MARKED else text[:length]


def _text_of(statement: Any) -> str:
    if type(statement) is str:
        return statement
    if isinstance(statement, bytes):
        return statement.decode("utf-8", "replace")
    return as_text(statement)
