"""The whole way: agent, broker, the OAP's fetcher, and what the OAP shows."""

from __future__ import annotations

import pytest

from e2e import samples
from e2e.graphql import OapQuery, eventually
from kit.kafka_client import kafka_client
from kit.real.kafka import Kafka
from kit.real.oap import Oap
from kit.stopwatch import Stopwatch
from swagent import Agent, Config, entry_span
from swagent.signals import Signal
from swagent_proto.messages import MeterDataCollection

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600)]

GAUGE = "instance_pvm_thread_active_count"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_segment_and_its_instance(kafka: Kafka, kafka_oap: Oap) -> None:
    service = samples.unique("kafka")
    config = Config(
        service=service,
        protocol="kafka",
        kafka_bootstrap_servers=(kafka.address,),
        instance_properties={"zone": "west"},
    )
    async with Agent(config) as agent:
        with entry_span("GET:/hello"):
            pass
        assert await agent.flush(20.0)
    async with OapQuery(kafka_oap.http_address) as query:
        (line,) = await eventually(lambda: query.traces(service))
        assert line.endpoint == "GET:/hello"
        (found,) = await eventually(lambda: query.instances(service), until=lambda all_: all_ and all_[0].attributes)
    assert (found.language, found.attributes["zone"]) == ("PYTHON", "west")


async def test_a_log_and_a_runtime_meter(kafka: Kafka, kafka_oap: Oap) -> None:
    service = samples.unique("kafka")
    log = samples.log_line(samples.segment(service), "disk is full")
    meters = MeterDataCollection(meter_data=[samples.gauge(service, GAUGE, 7.0)])
    async with kafka_client(kafka.address, request_timeout=10.0) as client:
        await client.send(bytes(log), signal=Signal.LOG)
        await client.send(bytes(meters), signal=Signal.METER)
    async with OapQuery(kafka_oap.http_address) as query:
        (line,) = await eventually(lambda: query.logs(service))
        assert line.content == "disk is full"
        instance = samples.instance(service)
        seen = await eventually(lambda: query.meter(f"meter_{GAUGE}", service, instance), until=lambda found: found)
    assert seen == 7.0


async def test_stopping_while_the_brokers_are_away() -> None:
    config = Config(service="shop", protocol="kafka", kafka_bootstrap_servers=("127.0.0.1:1",), shutdown_timeout=1.0)
    async with Agent(config) as agent:
        with entry_span("GET:/hello"):
            pass
        watch = Stopwatch()
    assert watch.own_seconds < 1.5
    assert agent.statistics()[Signal.SEGMENT].accepted == 1
