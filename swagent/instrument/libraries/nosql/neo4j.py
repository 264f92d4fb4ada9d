"""Neo4j: `run` of sessions and transactions, which all queries come through, `execute_query` and retries included.

The span ends when the server has taken the query and its answer begins. The records follow while the application
reads them.
"""

from __future__ import annotations

from typing import Any

from ....record.limits import as_text, short
from ....record.trace.model import Component, Layer
from ....record.trace.span import Span
from ...address import place_of
from ...arguments import Args, Kwargs
from ...call import begin_call
from ...excerpt import excerpt_of
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...settings import current
from ...wrapping import around_call
from ..sql.sql_call import keyword_of


def _hook(module: Any, patches: Patches) -> None:
    prefix = "Async" if "._async." in module.__name__ else ""
    if module.__name__.endswith(".session"):
        patches.wrap(getattr(module, f"{prefix}Session"), "run", around_call(_begin_in_session))
    else:
        patches.wrap(getattr(module, f"{prefix}TransactionBase"), "run", around_call(_begin_in_transaction))


def _begin_in_session(session: Any, args: Args, kwargs: Kwargs) -> Span | None:
    # the server's default database has no name here
    database = session._config.database or ""  # noqa: SLF001  (nothing public has it)
    return _begin("Neo4j/Session/run", session._pool.address, database, args, kwargs)  # noqa: SLF001


def _begin_in_transaction(transaction: Any, args: Args, kwargs: Kwargs) -> Span | None:
    address = transaction._connection.unresolved_address  # noqa: SLF001
    database = transaction._database or ""  # noqa: SLF001
    return _begin("Neo4j/Transaction/run", address, database, args, kwargs)


def _begin(name: str, address: Any, database: str, args: Args, kwargs: Kwargs) -> Span | None:
    query = args[0] if args else kwargs.get("query")
    statement = as_text(getattr(query, "text", query))
    tags = [("db.type", "Neo4j")]
    if database:
        tags.append(("db.instance", short(as_text(database))))
    keyword = keyword_of(statement)
    if keyword:
        tags.append(("db.operation", keyword))
    settings = current()
    if settings.sql_statements:
        tags.append(("db.statement", short(statement)))
    parameters = args[1] if len(args) > 1 else kwargs.get("parameters") or kwargs
    length = settings.sql_parameters_max_length
    if length > 0 and parameters:
        tags.append(("db.sql.parameters", excerpt_of(parameters, length)))
    return begin_call(name, place_of(address[0], address[1]), Layer.DATABASE, Component.NEO4J, tuple(tags))


INSTRUMENTATION = Instrumentation(
    name="neo4j",
    module="neo4j._sync.work.session",
    hook=_hook,
    versions=">=5.0,<7",
    plugins=("sw_neo4j",),
    also=("neo4j._sync.work.transaction", "neo4j._async.work.session", "neo4j._async.work.transaction"),
)
