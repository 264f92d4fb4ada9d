"""An operation that is reported twice is recorded once."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from opentelemetry import context, propagate, trace
from opentelemetry.trace import INVALID_SPAN, SpanKind, use_span

from instrument.trees import trees
from record.recorded import Recorder
from swagent import database_span, entry_span, exit_span, local_span

PREFIX = "opentelemetry.instrumentation."
orm = trace.get_tracer(PREFIX + "sqlalchemy")
driver = trace.get_tracer(PREFIX + "asyncpg")
web = trace.get_tracer(PREFIX + "starlette")
asgi = trace.get_tracer(PREFIX + "asgi")
QUERY: dict[str, Any] = {"db.system": "postgresql", "net.peer.name": "db", "net.peer.port": 5432}
REQUEST: dict[str, Any] = {"http.request.method": "GET", "url.path": "/orders"}


def _query() -> None:
    with database_span("PostgreSQL/AsyncPG/query", "db:5432", type="PostgreSQL"):
        pass


def test_a_call_inside_a_native_call_is_that_call(recorder: Recorder) -> None:
    headers: dict[str, str] = {}
    with local_span("job"), exit_span("outer", "shop:80") as outer:
        with driver.start_as_current_span("inner", kind=SpanKind.CLIENT) as inner:
            assert not inner.is_recording()
            inner.set_attribute("a", 1)
            propagate.inject(headers)
            with local_span("below"):
                pass
        assert headers == outer.headers()
    assert trees(recorder) == "Local job\n  Exit outer shop:80\n    Local below"


def test_a_bridged_call_inside_a_bridged_call_is_that_call(recorder: Recorder) -> None:
    with local_span("job"), orm.start_as_current_span("SELECT", kind=SpanKind.CLIENT, attributes=QUERY):
        driver.start_span("SELECT", kind=SpanKind.CLIENT, attributes=QUERY).end()
    assert recorder.names == [["job", "SELECT"]]


def test_a_native_call_beside_a_bridged_one_that_holds_it_wins(recorder: Recorder) -> None:
    with local_span("job"):
        span = orm.start_span("SELECT", kind=SpanKind.CLIENT)
        span.set_attributes(QUERY)
        _query()
        span.end()
    assert recorder.names == [["job", "PostgreSQL/AsyncPG/query"]]
    assert [span.id for span in sorted(recorder.only.spans, key=lambda span: span.id)] == [0, 2]


def test_of_two_bridged_calls_side_by_side_the_inner_one_stays(recorder: Recorder) -> None:
    with local_span("job"):
        span = orm.start_span("SELECT shop", kind=SpanKind.CLIENT, attributes={"db.system": "postgresql"})
        driver.start_span("query", kind=SpanKind.CLIENT, attributes=QUERY).end()
        span.end()
    assert recorder.only.names == ["job", "query"]


def test_two_calls_of_one_library_at_the_same_time_are_two(recorder: Recorder) -> None:
    with local_span("job"):
        slow = driver.start_span("slow", kind=SpanKind.CLIENT, attributes=QUERY)
        driver.start_span("quick", kind=SpanKind.CLIENT, attributes=QUERY).end()
        slow.end()
    assert recorder.only.names == ["job", "slow", "quick"]


@pytest.mark.parametrize(
    ("attributes", "before_end"),
    [
        ({"db.system": "mysql", "net.peer.name": "other"}, lambda span: None),
        ({"db.system": "mysql"}, lambda span: None),
        ({"messaging.system": "kafka"}, lambda span: None),
        (QUERY, lambda span: span.set_status(trace.StatusCode.ERROR)),
        (QUERY, lambda span: span.get_span_context()),
    ],
    ids=["another peer", "another kind of database", "another layer", "a failure", "a place that was sent"],
)
def test_a_bridged_call_that_says_more_stays(
    attributes: dict[str, str], before_end: Callable[[Any], None], recorder: Recorder
) -> None:
    with local_span("job"):
        span = orm.start_span("SELECT", kind=SpanKind.CLIENT, attributes=attributes)
        _query()
        before_end(span)
        span.end()
    assert sorted(recorder.only.names) == ["PostgreSQL/AsyncPG/query", "SELECT", "job"]


def test_calls_one_after_the_other_are_no_duplicates(recorder: Recorder) -> None:
    with local_span("job"):
        _query()
        orm.start_span("SELECT", kind=SpanKind.CLIENT, attributes=QUERY).end()
        _query()
    assert recorder.only.names == ["job", "PostgreSQL/AsyncPG/query", "SELECT", "PostgreSQL/AsyncPG/query"]


def test_of_an_instrumentation_that_is_registered_twice_one_span_is_recorded(recorder: Recorder) -> None:
    """As SQLAlchemy's on an async engine: the second handler forgets the first one's span."""
    with local_span("job"):
        for _ in range(2):
            span = None
            for _ in range(2):
                span = orm.start_span("SELECT", kind=SpanKind.CLIENT)
                span.set_attributes(QUERY)
            assert span is not None
            span.end()
            span.end()
        gc.collect()
    assert recorder.only.names == ["job", "SELECT", "SELECT"]
    assert not any(dict(span.tags).get("incomplete") for span in recorder.only.spans)


@pytest.mark.anyio
async def test_the_same_query_of_two_tasks_is_no_double(recorder: Recorder) -> None:
    async def query() -> None:
        span = orm.start_span("SELECT", kind=SpanKind.CLIENT, attributes=QUERY)
        await checkpoint()
        span.end()

    with local_span("job"):
        async with anyio.create_task_group() as children:
            children.start_soon(query)
            children.start_soon(query)
    assert recorder.only.names == ["job", "SELECT", "SELECT"]


def test_a_request_that_is_recorded_has_no_second_entry(recorder: Recorder) -> None:
    with entry_span("GET:/orders"):
        token = context.attach(propagate.extract({}))
        assert trace.get_current_span() is INVALID_SPAN
        span = web.start_span("GET /orders", kind=SpanKind.SERVER, context=context.get_current(), attributes=REQUEST)
        noise = asgi.start_as_current_span("GET /orders http send")
        with use_span(span, end_on_exit=True), local_span("inside"), noise, local_span("sent"):
            pass
        context.detach(token)
        with local_span("after"):
            pass
    assert trees(recorder) == "Entry GET:/orders\n  Local inside\n    Local sent\n  Local after"


def test_a_server_that_is_called_within_a_request_is_a_part_of_it(recorder: Recorder) -> None:
    with entry_span("POST:/mcp"), trace.get_tracer("mcp").start_as_current_span("tools/call", kind=SpanKind.SERVER):
        pass
    assert trees(recorder) == "Entry POST:/mcp\n  Local tools/call"


def test_a_server_alone_has_its_entry(recorder: Recorder) -> None:
    noise = asgi.start_as_current_span("GET /orders http send")
    with web.start_as_current_span("GET /orders", kind=SpanKind.SERVER, attributes=REQUEST), noise:
        pass
    assert trees(recorder) == "Entry GET:/orders UNKNOWN/HTTP http.method=GET http.url=/orders"


def test_a_message_that_is_recorded_has_no_second_entry_and_another_one_has(recorder: Recorder) -> None:
    sent: list[dict[str, str]] = [{}, {}]
    for headers in sent:
        with exit_span("send", "kafka:9092"):
            propagate.inject(headers)
    consumer = trace.get_tracer(PREFIX + "aiokafka")
    with entry_span("Kafka/orders/Consumer", sw8=sent[0]["sw8"]):
        for headers in sent:
            options: dict[str, Any] = {"kind": SpanKind.CONSUMER, "attributes": {"messaging.system": "kafka"}}
            consumer.start_span("orders receive", context=propagate.extract(headers), **options).end()
    assert recorder.names == [["send"], ["send"], ["orders receive"], ["Kafka/orders/Consumer"]]
    assert recorder.of("orders receive").trace_id == recorder.segments[1].trace_id
