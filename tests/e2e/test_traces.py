"""The main job against the real OAP: two services under real servers, whose telemetry is read back over GraphQL, over
every transport and on every loop."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial

import httpx
import pytest

from e2e.answers import Span
from e2e.graphql import OapQuery, eventually
from e2e.services import SERVERS, Pair, loop_of, serve_pair, wait_served
from faults.covering import covers
from faults.matrix import TRANSPORTS
from kit.real.kafka import Kafka
from kit.real.oap import Oap

pytestmark = pytest.mark.anyio

# the gate is content with two loops
CASES = [
    pytest.param(
        server,
        transport,
        marks=[
            covers("D05", transport, loop_of(server)),
            *([] if server == "uvicorn-uvloop" else [pytest.mark.gate]),
        ],
    )
    for server in SERVERS
    for transport in TRANSPORTS.values()
]
LIBRARIES = {"grpclib", "h2", "hpack", "aiokafka"}


@pytest.fixture
async def query(kafka_oap: Oap) -> AsyncIterator[OapQuery]:
    """Ask the one OAP that takes in all three transports."""
    async with OapQuery(kafka_oap.http_address) as client:
        yield client


@pytest.mark.parametrize(("server", "transport"), CASES)
async def test_the_oap_shows_traces_logs_meters_and_events_of_two_services(
    server: str, transport: str, kafka: Kafka, kafka_oap: Oap, query: OapQuery
) -> None:
    environ = {
        "SW_AGENT_PROTOCOL": transport,
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": getattr(
            kafka_oap, f"{'http' if transport == 'http' else 'grpc'}_address"
        ),
        "SW_KAFKA_BOOTSTRAP_SERVERS": kafka.address,
        "SW_AGENT_METER_REPORTER_PERIOD": "1",
        "SW_AGENT_INSTANCE_PROPERTIES_JSON": '{"zone": "west"}',
    }
    with serve_pair(server, environ, f"{server}-{uuid.uuid4().hex[:6]}") as pair:
        await _order(pair)
        instance = await _sees_services_and_instances(query, pair)
        if transport != "http":
            await _sees_meters(query, pair.shop, instance)
    assert await eventually(lambda: query.endpoints(pair.shop)) == ["GET:/orders/{item}"]
    await _sees_the_good_trace(query, pair)
    await _sees_logs(query, pair, await _sees_the_failed_trace(query, pair))
    if transport != "kafka":
        events = await eventually(lambda: query.events(pair.shop), until=lambda found: len(found) == 2)
        shown = {(event.name, event.instance, event.type) for event in events}
        assert shown == {(name, instance, "Normal") for name in ("Start", "Shutdown")}


async def _order(pair: Pair) -> None:
    await wait_served(pair.url)
    async with httpx.AsyncClient(base_url=pair.url, trust_env=False, timeout=20.0) as client:
        # the shop may listen before the stock does, and answers 500 until then
        await eventually(lambda: client.get("/orders/chair"), until=lambda answer: answer.status_code == 200)
        assert (await client.get("/orders/lamp?secret=1")).status_code == 200
        assert (await client.get("/orders/umbrella")).status_code == 502


async def _sees_services_and_instances(query: OapQuery, pair: Pair) -> str:
    """Returns the instance of the shop."""
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
    return instance.name


async def _sees_meters(query: OapQuery, service: str, instance: str) -> None:
    for name in ("instance_pvm_thread_active_count", "instance_pvm_process_mem_utilization"):
        ask = partial(query.meter, f"meter_{name}", service, instance)
        await eventually(ask, timeout=60, until=lambda value: value is not None and value > 0)


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


async def _sees_the_failed_trace(query: OapQuery, pair: Pair) -> str:
    """Returns its id."""
    spans = await _trace_of(query, pair, "24")
    by_name = {span.operation: span for span in spans}
    assert by_name["GET:/orders/{item}"].is_error
    assert by_name["GET:/orders/{item}"].tags["http.status_code"] == "502"
    assert not by_name["price"].is_error
    (log,) = by_name["count pieces"].logs
    assert log.data["error.kind"] == "KeyError"
    assert log.data["message"] == "'umbrella'"
    (failed,) = await query.traces(pair.stock, traceState="ERROR")
    assert failed.endpoint == "GET:/stock/{item}"
    return failed.trace_id


async def _sees_logs(query: OapQuery, pair: Pair, trace_id: str) -> None:
    (line,) = await eventually(lambda: query.logs(pair.shop, trace_id=trace_id))
    assert line.content.endswith("ERROR shop - no answer from the stock about umbrella")
    assert (line.service, line.trace_id) == (pair.shop, trace_id)
    assert {"level": "ERROR", "logger": "shop"}.items() <= line.tags.items()
    everything = await query.logs(pair.shop)
    assert any("only 2 of chair left" in each.content for each in everything)
    assert not LIBRARIES & {each.tags["logger"].split(".")[0] for each in everything}, "of the agent's own work"


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
