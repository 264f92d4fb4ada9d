"""The span of a query, the same for every driver.

Its name is the official agent's, such as `PostgreSQL/Psycopg/execute`. The statement is shown only where the user wants
it, and its parameters likewise; what kind of statement it is always is: `SELECT`, `INSERT`, ….
"""

from __future__ import annotations

from ..record.limits import as_text, short
from ..record.trace.model import Layer
from ..record.trace.span import Span
from .call import begin_call
from .settings import current

# Longer first words are no keywords of SQL.
_MAX_KEYWORD = 20


def begin_query(
    name: str,
    peer: str,
    component: int,
    *,
    type: str,  # noqa: A002, RUF100  (as the tag)
    instance: str = "",
    statement: object = None,
    parameters: object = None,
) -> Span | None:
    """Begin the span of a query. None: nothing is recorded here, or it is a part of another call.

    :param name: such as `Mysql/PyMsql/execute`
    :param peer: `host:port`
    :param type: of database, such as `PostgreSQL`
    :param instance: the database's name
    :param statement: text, bytes, or what the driver takes; shown only where `sql_statements` is on
    :param parameters: shown only as far as `sql_parameters_max_length` says
    """
    settings = current()
    tags = [("db.type", type)]
    if instance:
        tags.append(("db.instance", short(as_text(instance))))
    if statement is not None:
        keyword = keyword_of(statement)
        if keyword:
            tags.append(("db.operation", keyword))
        if settings.sql_statements:
            tags.append(("db.statement", short(_text_of(statement))))
    length = settings.sql_parameters_max_length
    if length > 0 and parameters:
        tags.append(("db.sql.parameters", short(as_text(parameters), max(length, 16))[:length]))
    return begin_call(name, peer, Layer.DATABASE, component, tuple(tags))


def keyword_of(statement: object) -> str:
    """The first word of a statement, in upper case; empty where it has none that is plain."""
    start = _text_of(statement)[:200].lstrip(" \t\r\n(")
    while start.startswith(("--", "/*")):
        end, length = (start.find("\n"), 1) if start.startswith("--") else (start.find("*/"), 2)
        if end < 0:
            return ""
        start = start[end + length :].lstrip(" \t\r\n(")
    words = start[: _MAX_KEYWORD + 1].split(None, 1)
    word = words[0].rstrip(";") if words else ""
    return word.upper() if word.isalpha() and len(word) <= _MAX_KEYWORD else ""


def _text_of(statement: object) -> str:
    if isinstance(statement, bytes):
        return statement.decode("utf-8", "replace")
    return as_text(statement)
