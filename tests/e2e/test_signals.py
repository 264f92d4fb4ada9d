"""All telemetry over every transport against the real OAP, from two services on asyncio and trio."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from functools import partial

import httpx
import pytest

from e2e.answers import LogLine
from e2e.graphql import OapQuery, eventually
from e2e.services import Pair, loop_of, serve_pair, wait_served
from faults.covering import covers
from kit.real.kafka import Kafka
from kit.real.oap import Oap

pytestmark = [pytest.mark.anyio, pytest.mark.gate]

SERVERS = ("uvicorn-asyncio", "hypercorn-trio")


def on_both(transport: str) -> pytest.MarkDecorator:
    """Run under both servers, as proof of the round trip over a transport."""
    marked = [pytest.param(each, marks=covers("D05", transport, loop_of(each))) for each in SERVERS]
    return pytest.mark.parametrize("server", marked)


@pytest.fixture
async def query(kafka_oap: Oap) -> AsyncIterator[OapQuery]:
    """Ask the one OAP that takes in all three transports."""
    async with OapQuery(kafka_oap.http_address) as client:
        yield client


@on_both("grpc")
async def test_grpc_carries_traces_logs_meters_and_events(server: str, kafka_oap: Oap, query: OapQuery) -> None:
    environ = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": kafka_oap.grpc_address, "SW_AGENT_METER_REPORTER_PERIOD": "1"}
    with serve_pair(server, environ, _suffix()) as pair:
        trace_id = await _order(pair, query)
        instance = await _sees_meters(query, pair)
    await _sees_logs_under_the_trace(query, pair, trace_id)
    events = await eventually(lambda: query.events(pair.shop), until=lambda found: len(found) == 2)
    assert {(event.name, event.instance, event.type) for event in events} == {
        ("Start", instance, "Normal"),
        ("Shutdown", instance, "Normal"),
    }


@on_both("http")
async def test_http_carries_traces_logs_and_events(server: str, kafka_oap: Oap, query: OapQuery) -> None:
    environ = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": kafka_oap.http_address, "SW_AGENT_PROTOCOL": "http"}
    with serve_pair(server, environ, _suffix()) as pair:
        trace_id = await _order(pair, query)
    await _sees_logs_under_the_trace(query, pair, trace_id)
    events = await eventually(lambda: query.events(pair.shop), until=lambda found: len(found) == 2)
    assert {event.name for event in events} == {"Start", "Shutdown"}


@on_both("kafka")
async def test_kafka_carries_traces_logs_and_meters(server: str, kafka: Kafka, query: OapQuery) -> None:
    environ = {
        "SW_KAFKA_BOOTSTRAP_SERVERS": kafka.address,
        "SW_AGENT_PROTOCOL": "kafka",
        "SW_AGENT_METER_REPORTER_PERIOD": "1",
    }
    with serve_pair(server, environ, _suffix()) as pair:
        trace_id = await _order(pair, query)
        await _sees_meters(query, pair)
    await _sees_logs_under_the_trace(query, pair, trace_id)


def _suffix() -> str:
    return uuid.uuid4().hex[:6]


async def _order(pair: Pair, query: OapQuery) -> str:
    """Order a chair and an umbrella, about which both services log; returns the umbrella's trace id."""
    await wait_served(pair.url)
    async with httpx.AsyncClient(base_url=pair.url, trust_env=False, timeout=20.0) as client:
        await eventually(lambda: client.get("/orders/chair"), until=lambda answer: answer.status_code == 200)
        assert (await client.get("/orders/umbrella")).status_code == 502
    failed = await eventually(lambda: query.traces(pair.stock, traceState="ERROR"))
    return failed[-1].trace_id


async def _sees_meters(query: OapQuery, pair: Pair) -> str:
    """Read runtime meters of the shop back; returns its instance's name."""
    (instance,) = await eventually(lambda: query.instances(pair.shop))
    for name in ("instance_pvm_thread_active_count", "instance_pvm_process_mem_utilization"):
        await eventually(
            partial(query.meter, f"meter_{name}", pair.shop, instance.name),
            timeout=60,
            until=lambda value: value is not None,
        )
    threads = await query.meter("meter_instance_pvm_thread_active_count", pair.shop, instance.name)
    assert threads is not None
    assert threads >= 1
    return instance.name


async def _sees_logs_under_the_trace(query: OapQuery, pair: Pair, trace_id: str) -> None:
    (line,) = await eventually(lambda: query.logs(pair.shop, trace_id=trace_id))
    assert line.content.endswith("ERROR shop - no answer from the stock about umbrella")
    assert (line.service, line.trace_id) == (pair.shop, trace_id)
    assert {"level": "ERROR", "logger": "shop"}.items() <= line.tags.items()
    everything = await query.logs(pair.shop)
    assert any("only 2 of chair left" in each.content for each in everything)
    assert not _of_libraries(everything)


def _of_libraries(lines: list[LogLine]) -> list[LogLine]:
    """The records that the agent's own libraries logged on its behalf, which must not come back."""
    return [line for line in lines if line.tags["logger"].split(".")[0] in {"grpclib", "h2", "hpack", "aiokafka"}]
