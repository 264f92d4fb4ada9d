"""Segments become spans of OTLP, judged by the official package."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.trace.v1 import trace_pb2

from kit.otlp import attributes_of
from otlp.samples import (
    CACHE,
    DATABASE,
    ENTRY,
    EXIT,
    HTTP,
    LOCAL,
    MQ,
    RPC,
    SEGMENT,
    TRACE,
    reference,
    segment,
    span,
)
from swagent.record.trace.traceparent import fold, format_traceparent
from swagent.w3c_ids import span_id_of, trace_id_of
from swagent_transports._otlp_spans import spans_of

KIND: Any = trace_pb2.Span


def translated(*spans: bytes, **of_segment: str) -> list[Any]:
    return [trace_pb2.Span.FromString(each) for each in spans_of(segment(*spans, **of_segment))[1]]


def one(*args: Any, **kwargs: Any) -> Any:
    (found,) = translated(span(*args, **kwargs))
    return found


def test_ids_are_those_that_traceparent_carries() -> None:
    """So a service that got the W3C's header reports its spans below ours."""
    root, child = translated(span(), span(EXIT, "/stock", number=1, parent=0))
    for found, number in ((root, 0), (child, 1)):
        _, trace, place, _ = format_traceparent(TRACE, SEGMENT, number).split("-")
        assert (found.trace_id.hex(), found.span_id.hex()) == (trace, place)
    assert (root.parent_span_id, child.parent_span_id) == (b"", root.span_id)


def test_a_reference_names_the_span_of_the_caller() -> None:
    """The callee knows the caller's place by `sw8`, and finds the id under which the caller reports it."""
    caller = "ab" * 16
    (called_by,) = translated(span(EXIT, "/orders", number=3), segment_id=caller)
    found = one(refs=[reference(caller, 3)])
    assert found.parent_span_id == called_by.span_id
    assert found.flags == 0x301, "its parent is of another process"


def test_a_reference_across_threads_is_of_this_process() -> None:
    found = one(LOCAL, "job", layer=0, refs=[reference(kind=1)])
    assert (found.flags, found.parent_span_id) == (0x101, span_id_of("ab" * 16, 3))


def test_a_caller_known_by_traceparent_alone_keeps_its_id() -> None:
    found = one(tags={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
    assert (found.parent_span_id.hex(), found.flags) == ("b7ad6b7169203331", 0x301)
    assert "traceparent" not in attributes_of(found)


def test_further_references_are_links() -> None:
    other = "11" * 16
    found = one(refs=[reference("ab" * 16, 0), reference("cd" * 16, 2), reference("ef" * 16, 1, trace=other)])
    assert found.parent_span_id == span_id_of("ab" * 16, 0)
    assert [(each.trace_id.hex(), each.span_id) for each in found.links] == [
        (TRACE, span_id_of("cd" * 16, 2)),
        (other, span_id_of("ef" * 16, 1)),
    ]


def test_a_reference_into_another_trace_is_a_link_and_no_parent() -> None:
    found = one(refs=[reference(trace="11" * 16)])
    assert (found.parent_span_id, len(found.links)) == (b"", 1)


def test_ids_of_other_agents_are_hashed_alike_everywhere() -> None:
    java = "56a5e1c519ae4c76a2b8b11d92cead7f.12.16563474296430001"
    assert len(trace_id_of(java)) == 16
    assert trace_id_of(java) == trace_id_of(java) != trace_id_of(java + "1")
    assert len(span_id_of(java, 300)) == 8
    assert trace_id_of("4bf92f35-77b3-4da6-a3ce-929d0e0e4736").hex() == TRACE
    assert span_id_of(SEGMENT, 70_000) == fold(SEGMENT, 70_000).to_bytes(8, "big")


@pytest.mark.parametrize(
    ("kind", "layer", "expected"),
    [
        (ENTRY, HTTP, KIND.SPAN_KIND_SERVER),
        (ENTRY, MQ, KIND.SPAN_KIND_CONSUMER),
        (EXIT, HTTP, KIND.SPAN_KIND_CLIENT),
        (EXIT, DATABASE, KIND.SPAN_KIND_CLIENT),
        (EXIT, MQ, KIND.SPAN_KIND_PRODUCER),
        (LOCAL, 0, KIND.SPAN_KIND_INTERNAL),
    ],
)
def test_kinds(kind: int, layer: int, expected: int) -> None:
    assert one(kind, "work", layer=layer).kind == expected


HTTP_TAGS = {"http.method": "GET", "http.status_code": "200"}
OUR_HTTP = {"http.request.method": "GET", "http.response.status_code": 200}


def at(address: str, port: int | None = None, of: str = "server") -> dict[str, Any]:
    return {f"{of}.address": address, **({f"{of}.port": port} if port else {})}


def exit_of(layer: int, name: str, peer: str, component: int = 7014, **tags: str) -> dict[str, Any]:
    """Two underscores in a tag stand for a dot."""
    tags = {key.replace("__", "."): value for key, value in tags.items()}
    return {"kind": EXIT, "layer": layer, "name": name, "peer": peer, "component": component, "tags": tags}


def message_of(system: str, operation: str) -> dict[str, Any]:
    of = {"system": system, "destination.name": "orders", "operation.name": operation, "operation.type": operation}
    return {f"messaging.{name}": value for name, value in of.items()}


CONVENTIONS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "http server": (
        {"tags": {**HTTP_TAGS, "url": "http://shop:8000/orders/{id}", "time.running": "1.5"}, "peer": "10.0.0.7:41000"},
        "GET /orders/{id}",
        {
            **OUR_HTTP, "http.route": "/orders/{id}", "url.scheme": "http", "url.path": "/orders/{id}",
            **at("shop", 8000), **at("10.0.0.7", 41000, "client"), "time.running": 1.5,
        },
    ),
    "http client": (
        {
            "kind": EXIT, "name": "/stock/{id}", "peer": "[::1]:9000",
            "tags": {**HTTP_TAGS, "http.url": "http://[::1]:9000/stock/17"},
        },
        "GET /stock/{id}",
        {**OUR_HTTP, "url.full": "http://[::1]:9000/stock/17", **at("::1", 9000)},
    ),
    "query": (
        exit_of(
            DATABASE, "PostgreSQL/AsyncPG/bind", "db:5432", db__type="PostgreSQL", db__instance="shop",
            db__operation="SELECT", db__query__summary="SELECT orders", db__statement="SELECT 1",
        ),
        "SELECT orders",
        {
            "db.system.name": "postgresql", "db.namespace": "shop", "db.operation.name": "SELECT",
            "db.query.summary": "SELECT orders", "db.query.text": "SELECT 1", **at("db", 5432),
        },
    ),
    "query of a database in this process": (
        exit_of(DATABASE, "SQLite/sqlite3/execute", ":memory:", db__type="SQLite", db__operation="CREATE"),
        "CREATE",
        {"db.system.name": "sqlite", "db.operation.name": "CREATE", **at(":memory:")},
    ),
    "cache": (
        exit_of(CACHE, "Redis/GET", "127.0.0.1:6379", cache__type="Redis", cache__cmd="GET", cache__op="read"),
        "GET",
        {"db.system.name": "redis", "db.operation.name": "GET", "cache.op": "read", **at("127.0.0.1", 6379)},
    ),
    "producer": (
        exit_of(MQ, "Kafka/orders/Producer", "k1:9092;k2:9092", 40, mq__broker="k1:9092;k2:9092", mq__topic="orders"),
        "send orders",
        {**message_of("kafka", "send"), **at("k1", 9092)},
    ),
    "consumer": (
        {
            "layer": MQ, "component": 53, "name": "RabbitMQ/Topic//Queue/orders/Consumer",
            "tags": {"mq.broker": "r:5672", "mq.queue": "orders"},
        },
        "process orders",
        {**message_of("rabbitmq", "process"), **at("r", 5672)},
    ),
    "grpc": (
        exit_of(
            RPC, "/stock.Stock/Look", "s:50051", 23, grpc__method="/stock.Stock/Look", grpc__url="s:50051",
            grpc__status_code="NOT_FOUND",
        ),
        "stock.Stock/Look",
        {
            "rpc.system": "grpc", "rpc.service": "stock.Stock", "rpc.method": "Look", "rpc.grpc.status_code": 5,
            **at("s", 50051),
        },
    ),
    "model": (
        exit_of(
            HTTP, "OpenAI/chat/completions", "api:443", gen_ai__provider__name="openai",
            gen_ai__usage__input_tokens="11",
        ),
        "OpenAI/chat/completions",
        {"gen_ai.provider.name": "openai", "gen_ai.usage.input_tokens": 11, **at("api", 443)},
    ),
    "local": (
        {"kind": LOCAL, "layer": 0, "name": "compute", "tags": {"outcome": "cancelled", "task": "worker"}},
        "compute",
        {"outcome": "cancelled", "task": "worker"},
    ),
}  # fmt: skip


def test_times_are_nanoseconds() -> None:
    found = one(start=1_700_000_000_123, end=1_700_000_000_456)
    assert (found.start_time_unix_nano, found.end_time_unix_nano) == (
        1_700_000_000_123_000_000,
        1_700_000_000_456_000_000,
    )


@pytest.mark.parametrize("case", CONVENTIONS)
def test_semantic_conventions(case: str) -> None:
    given, name, attributes = CONVENTIONS[case]
    found = one(**given)
    assert (found.name, attributes_of(found)) == (name, attributes)
    assert found.status.code == trace_pb2.Status.STATUS_CODE_UNSET


def test_an_error_is_an_exception_and_a_status() -> None:
    error = {"event": "error", "error.kind": "ValueError", "message": "no such order", "stack": "Traceback ..."}
    note = {"event": "retry", "attempt": "2"}
    found = one(failed=True, logs=[(1_700_000_000_001, note), (1_700_000_000_009, error)])
    retry, exception = found.events
    assert (retry.name, attributes_of(retry)) == ("retry", {"attempt": "2"})
    assert exception.time_unix_nano == 1_700_000_000_009_000_000
    assert (exception.name, attributes_of(exception)) == (
        "exception",
        {
            "exception.type": "ValueError",
            "exception.message": "no such order",
            "exception.stacktrace": "Traceback ...",
        },
    )
    assert (found.status.code, found.status.message) == (trace_pb2.Status.STATUS_CODE_ERROR, "no such order")
    assert attributes_of(found)["error.type"] == "ValueError"


@pytest.mark.parametrize(
    ("kind", "status", "expected"), [(ENTRY, "503", "503"), (EXIT, "404", "404"), (ENTRY, "200", "_OTHER")]
)
def test_a_failure_without_an_exception_has_a_type(kind: int, status: str, expected: str) -> None:
    found = one(kind, failed=True, tags={"http.status_code": status})
    assert attributes_of(found)["error.type"] == expected


@pytest.mark.parametrize("record", [b"record", b"\x1a\x05\x08", b"\x0a\xff"])
def test_what_is_no_segment_raises(record: bytes) -> None:
    with pytest.raises(ValueError):
        spans_of(record)
