"""The main job against the real OAP: two services under real servers, their joined traces read back over GraphQL."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence

import httpx
import pytest

from e2e.answers import Span
from e2e.graphql import OapQuery, eventually
from e2e.services import SERVERS, Pair, loop_of, serve_pair, wait_served
from faults.covering import covers
from kit.real.kafka import Kafka
from kit.real.oap import Oap

pytestmark = pytest.mark.anyio


# the other loops of HTTP and Kafka are in test_signals
CASES = [*((server, "grpc") for server in SERVERS), ("uvicorn-uvloop", "http"), ("uvicorn-uvloop", "kafka")]


@pytest.fixture
async def query(kafka_oap: Oap) -> AsyncIterator[OapQuery]:
    """Ask the one OAP that takes in all three transports."""
    async with OapQuery(kafka_oap.http_address) as client:
        yield client


@pytest.mark.parametrize(
    ("server", "transport"),
    [pytest.param(*each, marks=covers("D05", each[1], loop_of(each[0]))) for each in CASES],
)
async def test_the_oap_shows_the_joined_trace_of_two_services(
    server: str, transport: str, kafka: Kafka, kafka_oap: Oap, query: OapQuery
) -> None:
    environ = {
        "SW_AGENT_PROTOCOL": transport,
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": kafka_oap.http_address
        if transport == "http"
        else kafka_oap.grpc_address,
        "SW_KAFKA_BOOTSTRAP_SERVERS": kafka.address,
        "SW_AGENT_INSTANCE_PROPERTIES_JSON": '{"zone": "west"}',
    }
    with serve_pair(server, environ, f"{server}-{uuid.uuid4().hex[:6]}") as pair:
        await _order(pair)
    await _sees_services_and_instances(query, pair)
    assert await eventually(lambda: query.endpoints(pair.shop)) == ["GET:/orders/{item}"]
    await _sees_the_good_trace(query, pair)
    await _sees_the_failed_trace(query, pair)


async def _order(pair: Pair) -> None:
    await wait_served(pair.url)
    async with httpx.AsyncClient(base_url=pair.url, trust_env=False, timeout=20.0) as client:
        # the shop may listen before the stock does, and answers 500 until then
        await eventually(lambda: client.get("/orders/chair"), until=lambda answer: answer.status_code == 200)
        assert (await client.get("/orders/lamp?secret=1")).status_code == 200
        assert (await client.get("/orders/umbrella")).status_code == 502


async def _sees_services_and_instances(query: OapQuery, pair: Pair) -> None:
    wanted = {pair.shop, pair.stock}
    await eventually(query.services, until=lambda found: wanted <= {service.name for service in found})
    (instance,) = await eventually(
        lambda: query.instances(pair.shop), until=lambda found: found and found[0].attributes
    )
    assert instance.language == "PYTHON"
    assert instance.attributes["zone"] == "west"
    assert {"OS Name", "Process No.", "hostname", "python_implementation"} <= set(instance.attributes)
    # the OAP gathers the addresses of an instance under this name
    assert instance.attributes["ipv4s"]


async def _sees_the_good_trace(query: OapQuery, pair: Pair) -> None:
    spans = await _trace_of(query, pair, "12")
    entry, price, call, served, counted = spans
    assert [(span.service, span.operation, span.type) for span in spans] == [
        (pair.shop, "GET:/orders/{item}", "Entry"),
        (pair.shop, "price", "Local"),
        (pair.shop, "GET:/stock", "Exit"),
        (pair.stock, "GET:/stock/{item}", "Entry"),
        (pair.stock, "count pieces", "Local"),
    ]
    assert not any(span.is_error for span in spans)
    assert (entry.layer, entry.component) == ("Http", "FastAPI")
    assert entry.tags == {"http.method": "GET", "http.url": f"{pair.url}/orders/{{item}}", "http.status_code": "200"}
    assert price.parent_span_id == entry.span_id
    assert price.tags == {"price": "12"}
    assert [(ref.segment_id, ref.span_id, ref.type) for ref in served.refs] == [
        (call.segment_id, call.span_id, "CROSS_PROCESS")
    ]
    assert counted.segment_id == served.segment_id


async def _sees_the_failed_trace(query: OapQuery, pair: Pair) -> None:
    spans = await _trace_of(query, pair, "24")
    by_name = {span.operation: span for span in spans}
    assert by_name["GET:/orders/{item}"].is_error
    assert by_name["GET:/orders/{item}"].tags["http.status_code"] == "502"
    assert not by_name["price"].is_error
    (log,) = by_name["count pieces"].logs
    assert log.data["error.kind"] == "KeyError"
    assert log.data["message"] == "'umbrella'"
    failed = await query.traces(pair.stock, traceState="ERROR")
    assert [line.endpoint for line in failed] == ["GET:/stock/{item}"]


async def _trace_of(query: OapQuery, pair: Pair, price: str) -> Sequence[Span]:
    """The five spans of the order that cost so much (three a letter of the item), the shop's before the stock's."""

    async def find() -> list[Span]:
        for line in await query.traces(pair.shop):
            spans = await query.trace(line.trace_id)
            if any(span.tags.get("price") == price for span in spans):
                return spans
        return []

    spans = await eventually(find, until=lambda found: len(found) == 5)
    return sorted(spans, key=lambda span: (span.service == pair.stock, span.span_id))
