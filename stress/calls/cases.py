"""The calls that are measured, each as an instrumentation makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opentelemetry import propagate, trace
from opentelemetry.util.types import AttributeValue

from swagent.instrument.call import end_call
from swagent.instrument.libraries.http.http_call import begin_http_call, note_status
from swagent.instrument.libraries.http.http_call import propagate as write_context
from swagent.instrument.libraries.sql.sql_call import begin_query, database_at
from swagent.record.trace.model import Component

_CLIENT = trace.SpanKind.CLIENT
_QUERY: dict[str, AttributeValue] = {
    "db.system": "postgresql",
    "net.peer.name": "db",
    "net.peer.port": 5432,
    "db.statement": "SELECT 1",
}
_REQUEST: dict[str, AttributeValue] = {"http.method": "GET", "http.url": "http://stock.test/orders/17"}
_DATABASE = database_at("PostgreSQL", Component.ASYNCPG, "db", 5432)
_asyncpg = trace.get_tracer("opentelemetry.instrumentation.asyncpg")
_httpx = trace.get_tracer("opentelemetry.instrumentation.httpx")


class Case(NamedTuple):
    """A call, and how many microseconds it may cost."""

    name: str
    call: Callable[[], object]
    limit: float | None


def _native_query() -> None:
    span = begin_query("PostgreSQL/AsyncPG/query", _DATABASE, "SELECT 1")
    if span is not None:
        end_call(span)


def _native_request() -> None:
    span = begin_http_call("GET", "http", "stock.test", None, "/orders/17", Component.HTTPX)
    if span is not None:
        headers: dict[str, str] = {}
        write_context(span, span.peer, headers)
        note_status(span, 200)
        end_call(span)


def _bridged_query() -> None:
    with _asyncpg.start_as_current_span("SELECT", kind=_CLIENT, attributes=_QUERY):
        pass


def _bridged_request() -> None:
    with _httpx.start_as_current_span("GET", kind=_CLIENT, attributes=_REQUEST) as span:
        propagate.inject({})
        span.set_attribute("http.status_code", 200)


CASES: Sequence[Case] = (
    Case("nothing", lambda: None, None),
    Case("a native query", _native_query, 7),
    Case("a native request, with the context's headers", _native_request, 7),
    Case("a bridged query", _bridged_query, 14),
    Case("a bridged request, with the context's headers", _bridged_request, None),
)
