"""OTLP in, from OpenTelemetry's own SDK, over gRPC and HTTP, as protobuf and JSON, compressed or not."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from collector.otlp_neighbours import WAYS, collecting, exporter, tracing
from swagent.collector.intake.room import MAX_BODY
from swagent.collector.store.records import Meter
from swagent.collector.store.trace_records import Reference, Segment, Span

PROTOBUF = {"content-type": "application/x-protobuf"}
IDS = {"trace_id": b"\x11" * 16, "span_id": b"\x22" * 8}


def only(segment: Segment) -> Span:
    (span,) = segment.spans
    return span


CALL = {"http.request.method": "GET", "http.response.status_code": 500, "items": [1, 2]}
QUERY: dict[str, Any] = {
    "db.system.name": "postgresql", "db.query.text": "SELECT 1", "db.operation.name": "SELECT",
    "server.address": "db", "server.port": 5432,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_spans_arrive_with_all_that_they_say_and_below_their_parents(way: str) -> None:
    with collecting() as collector:
        with tracing(collector, "cart", way) as tracer:
            with tracer.start_as_current_span("elsewhere") as other:
                pass
            links = [Link(other.get_span_context())]
            with tracer.start_as_current_span(
                "GET /cart/{id}", kind=SpanKind.SERVER, links=links, attributes=CALL
            ) as server:
                server.add_event("cache miss", {"key": "c-17"})
                server.record_exception(ValueError("no such cart"))
                server.set_status(Status(StatusCode.ERROR, "no such cart"))
                with tracer.start_as_current_span("query", kind=SpanKind.CLIENT, attributes=QUERY):
                    pass
        _, below, kept = collector.store.segments
        (known,) = collector.store.instances
    span, context = only(kept), server.get_span_context()
    trace, place = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    assert (kept.trace_id, kept.segment_id) == (trace, trace + place)
    assert (kept.service, kept.instance) == ("cart", "cart-1")
    assert (span.operation, span.kind, span.layer, span.is_error) == ("GET /cart/{id}", "Entry", "Http", True)
    assert dict(span.tags) == {
        "http.method": "GET", "http.status_code": "500", "items": "[1, 2]", "otel.scope.name": "neighbour"
    }  # fmt: skip
    miss, error = span.logs
    assert miss.data == (("event", "cache miss"), ("key", "c-17"))
    assert {("error.kind", "ValueError"), ("message", "no such cart")} <= set(error.data)
    linked = other.get_span_context()
    ids = f"{linked.trace_id:032x}", f"{linked.trace_id:032x}{linked.span_id:016x}"
    assert span.references == (Reference("CrossProcess", *ids, 0, "", "", "", ""),)
    assert abs(span.start_time - server.start_time // 1_000_000) <= 1
    assert ("deployment.environment.name", "test") in known.properties

    query = only(below)
    (reference,) = query.references
    assert (reference.kind, reference.service, reference.segment_id) == ("CrossThread", "cart", kept.segment_id)
    assert (query.kind, query.layer, query.peer, query.component_id) == ("Exit", "Database", "db:5432", 22)
    assert dict(query.tags) == {
        "db.type": "postgresql", "db.statement": "SELECT 1", "db.operation": "SELECT", "server.address": "db",
        "server.port": "5432", "otel.scope.name": "neighbour",
    }  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_logs_arrive_under_their_span(way: str) -> None:
    with collecting() as collector:
        provider = LoggerProvider(Resource({"service.name": "cart", "host.name": "pod", "process.pid": 7}))
        provider.add_log_record_processor(SimpleLogRecordProcessor(exporter(way, "logs", collector)))
        logger = provider.get_logger("shop.cart")
        with tracing(collector, "cart", way) as tracer, tracer.start_as_current_span("work") as span:
            logger.emit(LogRecord(timestamp=1_700_000_000_123_456_789, severity_text="WARN", body="cart 17 is empty"))
        logger.emit(LogRecord(severity_number=SeverityNumber.ERROR, body={"cart": [17]}, attributes={"user.id": "u"}))
        provider.shutdown()
        inside, outside = collector.store.logs
    context = span.get_span_context()
    assert (inside.content, inside.service, inside.instance) == ("cart 17 is empty", "cart", "7@pod")
    assert inside.trace_id == f"{context.trace_id:032x}"
    assert inside.segment_id == f"{context.trace_id:032x}{context.span_id:016x}"
    assert dict(inside.tags)["level"] == "WARNING"
    assert dict(inside.tags)["logger"] == "shop.cart"
    assert inside.timestamp == 1_700_000_000_123
    assert (json.loads(outside.content), outside.content_type) == ({"cart": [17]}, "json")
    assert (outside.trace_id, outside.segment_id, dict(outside.tags)["level"]) == ("", "", "ERROR")


@pytest.mark.parametrize("way", WAYS)
def test_metrics_arrive(way: str) -> None:
    with collecting() as collector:
        reader = PeriodicExportingMetricReader(exporter(way, "metrics", collector), 1_000_000)
        view = View(instrument_name="latency", aggregation=ExponentialBucketHistogramAggregation(max_scale=0))
        provider = MeterProvider([reader], Resource({"service.name": "cart"}), views=[view])
        meter = provider.get_meter("neighbour")
        meter.create_counter("orders").add(3, {"status": "paid"})
        meter.create_histogram("size", explicit_bucket_boundaries_advisory=[1.0, 10.0]).record(5)
        for value in (0.0, 3.0, 5.0, -3.0):
            meter.create_histogram("latency").record(value) if value >= 0 else None
        provider.shutdown()
        found: dict[str, Meter] = {meter.name: meter for meter in collector.store.meters}
    assert (found["orders"].value, found["orders"].labels) == (3.0, (("status", "paid"),))
    assert found["size"].buckets == ((float("-inf"), 0), (1.0, 1), (10.0, 0))
    assert found["latency"].buckets == ((0.0, 1), (2.0, 1), (4.0, 1))


def spans_request(*spans: dict[str, Any]) -> bytes:
    request = trace_service_pb2.ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for each in spans:
        scope.spans.add(**each)
    return bytes(request.SerializeToString())


def post(collector: Any, body: bytes, headers: dict[str, str] = PROTOBUF, path: str = "/v1/traces") -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=50) as client:
        return client.post(f"http://{collector.http_address}{path}", content=body, headers=headers)


def test_what_has_no_ids_is_refused_and_the_rest_is_taken() -> None:
    with collecting() as collector:
        good = {**IDS, "name": "good"}
        answer = post(collector, spans_request({"name": "bad"}, good, {**IDS, "span_id": b"\x00" * 8}))
        assert answer.headers["content-type"] == "application/x-protobuf"
        reply = trace_service_pb2.ExportTraceServiceResponse.FromString(answer.content)
        assert (answer.status_code, reply.partial_success.rejected_spans) == (200, 2)
        assert "a span's id has 8 bytes" in reply.partial_success.error_message
        (segment,) = collector.store.segments
    assert (segment.service, segment.instance, only(segment).operation) == ("unknown_service", "unknown", "good")


def test_a_call_of_a_model_is_of_its_layer_and_without_what_was_said() -> None:
    attributes: dict[str, Any] = {
        "gen_ai.system": "mistral",
        "gen_ai.request.model": "tiny",
        "gen_ai.usage.prompt_tokens": "3",
        "gen_ai.input.messages": "a secret",
        "gen_ai.prompt.0.content": "a secret",
        "gen_ai.tool.call.arguments": "a secret",
    }
    with collecting() as collector:
        with (
            tracing(collector, "shop") as tracer,
            tracer.start_as_current_span("chat tiny", kind=SpanKind.CLIENT, attributes=attributes) as span,
        ):
            span.add_event("gen_ai.choice", {"message": "a secret"})
        (kept,) = collector.store.segments
    found = only(kept)
    assert found.layer == "GenAI"
    assert "a secret" not in repr(found)
    assert dict(found.tags) == {
        "gen_ai.provider.name": "mistral",
        "gen_ai.request.model": "tiny",
        "gen_ai.response.model": "tiny",
        "gen_ai.usage.input_tokens": "3",
        "otel.scope.name": "neighbour",
    }


BOMB = gzip.compress(b"\x00" * (MAX_BODY + 1), mtime=0)
JSON = {"content-type": "application/json; charset=utf-8"}
SPAN = {
    "traceId": "5B8EFFF798038103D269B633813FC60C",
    "spanId": "EEE19B7EC3C1B174",
    "parentSpanId": "eee19b7ec3c1b173",
    "name": "I'm a server span",
    "startTimeUnixNano": "1544712660000000000",
    "endTimeUnixNano": 1544712661000000000,
    "kind": 2,
    "attributes": [{"key": "my.attr", "value": {"stringValue": "some value"}}],
    "links": [{"traceId": "11" * 16, "spanId": "22" * 8}],
    "status": {"code": 2, "message": "broken"},
    "aFieldOfTheFuture": {},
}


def in_json(*spans: dict[str, Any]) -> bytes:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "web"}}]}
    scope = {"scope": {"name": "lib", "version": "1"}, "spans": list(spans)}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}).encode()


def test_json_as_the_specification_has_it() -> None:
    with collecting() as collector:
        answer = post(collector, in_json(SPAN), JSON)
        assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (200, {}, "application/json")
        (segment,) = collector.store.segments
    trace = "5b8efff798038103d269b633813fc60c"
    assert (segment.trace_id, segment.segment_id, segment.service) == (trace, f"{trace}eee19b7ec3c1b174", "web")
    span = only(segment)
    assert (span.start_time, span.end_time, span.kind) == (1544712660000, 1544712661000, "Entry")
    assert [each.segment_id for each in span.references] == [f"{trace}eee19b7ec3c1b173", "11" * 16 + "22" * 8]
    assert span.logs[0].data == (("event", "error"), ("message", "broken"))


@pytest.mark.parametrize(
    ("status", "body", "headers", "words"),
    [
        (400, b"\xff\xff", PROTOBUF, ""),
        (400, b"\x0a\x05\x12", PROTOBUF, "cut short"),
        (400, b"[]", JSON, "a JSON object is needed"),
        (400, b"{", JSON, "no JSON"),
        (400, b'{"resourceSpans": 7}', JSON, "no list"),
        (400, in_json({**SPAN, "traceId": "xyz"}), JSON, "hexadecimal"),
        (400, in_json({**SPAN, "kind": {}}), JSON, "malformed"),
        (413, b"[" + b"1," * (2 * 1024 * 1024 + 1) + b"1]", JSON, "send protobuf"),
        (415, b"", {"content-type": "text/plain"}, "application/x-protobuf"),
        (415, b"", {**PROTOBUF, "content-encoding": "br"}, "compressed"),
        (400, b"no gzip", {**PROTOBUF, "content-encoding": "gzip"}, "no gzip"),
        (400, gzip.compress(b"", mtime=0)[:-1], {**PROTOBUF, "content-encoding": "gzip"}, "one whole gzip stream"),
        (413, BOMB, {**PROTOBUF, "content-encoding": "gzip"}, "decompressed"),
        (403, b"", {**PROTOBUF, "origin": "http://evil.example"}, "origin"),
        (403, b"", {**PROTOBUF, "sec-fetch-site": "cross-site"}, "another site"),
    ],
    ids=range(15),
)
def test_what_is_refused(status: int, body: bytes, headers: dict[str, str], words: str) -> None:
    with collecting() as collector:
        answer = post(collector, body, headers)
        assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text
        assert post(collector, spans_request({**IDS, "name": "good"})).status_code == 200, "it serves the next one"
        assert len(collector.store.segments) == 1


def test_a_token_may_be_a_bearers() -> None:
    with collecting(token="sesame") as collector:
        for token, arrived in (("wrong", 0), ("sesame", 1)):
            headers = (("authorization", f"Bearer {token}"),)
            with tracing(collector, "cart", "grpc", headers=headers) as tracer:
                tracer.start_span("work").end()
            assert len(collector.store.segments) == arrived
