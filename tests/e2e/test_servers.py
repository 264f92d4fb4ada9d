"""The servers and the query client prove themselves without the agent: what is sent is what is read back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import httpx
import pytest
from aiokafka import AIOKafkaProducer
from grpclib.client import Channel
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from e2e import samples
from e2e.fixtures import TOKEN
from e2e.graphql import OapQuery, eventually
from kit.real.kafka import Kafka
from kit.real.oap import Oap
from swagent_proto.messages import (
    Event,
    EventServiceStub,
    InstancePingPkg,
    InstanceProperties,
    LogReportServiceStub,
    ManagementServiceStub,
    MeterReportServiceStub,
    Source,
    TraceSegmentReportServiceStub,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def channel(oap: Oap) -> AsyncIterator[Channel]:
    async with Channel("127.0.0.1", oap.ports[0]) as channel:
        yield channel


async def test_segments_of_two_services_make_one_trace(channel: Channel, query: OapQuery) -> None:
    front, back = samples.segment(samples.unique("front")), samples.segment(samples.unique("back"))
    samples.call(front, back, peer="10.0.0.7:8080")
    samples.fail(back.spans[0], "ValueError")
    await TraceSegmentReportServiceStub(channel).collect([front, back])

    spans = await eventually(lambda: query.trace(front.trace_id), until=lambda found: len(found) == 3)
    by_place = {(span.service, span.span_id): span for span in spans}
    entry, exit_, served = (by_place[front.service, 0], by_place[front.service, 1], by_place[back.service, 0])
    assert (entry.type, entry.layer, entry.component) == ("Entry", "Http", "FastAPI")
    assert entry.tags == {"http.method": "GET", "http.status_code": "200"}
    assert (exit_.type, exit_.component, exit_.peer) == ("Exit", "HTTPX", "10.0.0.7:8080")
    (ref,) = served.refs
    assert (ref.segment_id, ref.span_id, ref.type) == (front.trace_segment_id, 1, "CROSS_PROCESS")
    assert served.is_error
    assert served.logs[0].data["error.kind"] == "ValueError"
    assert served.start_time == back.spans[0].start_time


async def test_a_segment_makes_service_instance_and_endpoint_known(channel: Channel, query: OapQuery) -> None:
    sent = samples.segment(samples.unique("known"), "GET:/items/{id}")
    await TraceSegmentReportServiceStub(channel).collect([sent])

    (line,) = await eventually(lambda: query.traces(sent.service))
    assert (line.segment_id, line.endpoint) == (sent.trace_segment_id, "GET:/items/{id}")
    assert await eventually(lambda: query.endpoints(sent.service)) == ["GET:/items/{id}"]
    # each of them becomes known by itself
    assert [found.name for found in await eventually(lambda: query.instances(sent.service))] == [sent.service_instance]
    await eventually(query.services, until=lambda found: sent.service in {service.name for service in found})
    status = {"key": "http.status_code", "value": "404"}
    assert await query.traces(sent.service, tags=[status]) == []
    assert len(await query.traces(sent.service, tags=[{**status, "value": "200"}])) == 1


async def test_a_log_line_hangs_on_its_trace(channel: Channel, query: OapQuery) -> None:
    segment = samples.segment(samples.unique("logging"))
    await LogReportServiceStub(channel).collect([samples.log_line(segment, "disk is full")])

    (line,) = await eventually(lambda: query.logs(segment.service, trace_id=segment.trace_id))
    assert (line.content, line.endpoint, line.tags["level"]) == ("disk is full", "GET:/hello", "WARNING")
    assert await query.logs(segment.service, tags=[{"key": "level", "value": "ERROR"}]) == []


async def test_properties_show_on_the_instance(channel: Channel, query: OapQuery) -> None:
    service = samples.unique("properties")
    properties = samples.tags({"language": "python", "hostname": "here"})
    names = {"service": service, "service_instance": samples.instance(service)}
    management = ManagementServiceStub(channel)
    await management.report_instance_properties(InstanceProperties(**names, properties=properties))
    await management.keep_alive(InstancePingPkg(**names))

    (found,) = await eventually(lambda: query.instances(service), until=lambda all_: all_ and all_[0].attributes)
    assert (found.language, found.attributes["hostname"]) == ("PYTHON", "here")


UTILIZATION = [f"{whose}_{what}_utilization" for whose in ("total", "process") for what in ("cpu", "mem")]
RUNTIME_GAUGES = [*UTILIZATION, "gc_g0", "gc_g1", "gc_g2", "thread_active_count"]


async def test_every_runtime_gauge_becomes_a_metric(channel: Channel, query: OapQuery) -> None:
    service = samples.unique("gauges")
    values = {f"instance_pvm_{gauge}": 40.0 + place for place, gauge in enumerate(RUNTIME_GAUGES)}
    await MeterReportServiceStub(channel).collect([samples.gauge(service, *item) for item in values.items()])

    async def seen() -> dict[str, float | None]:
        instance = samples.instance(service)
        return {name: await query.meter(f"meter_{name}", service, instance) for name in values}

    assert await eventually(seen, until=lambda found: None not in found.values()) == values


async def test_of_the_time_of_the_garbage_collector_each_minutes_share_shows(channel: Channel, query: OapQuery) -> None:
    service = samples.unique("garbage")
    before = samples.gauge(service, "instance_pvm_gc_time", 1_000.0)
    now = samples.gauge(service, "instance_pvm_gc_time", 1_047.0)
    before.timestamp = now.timestamp - 60_000
    # a report has one time for all
    for report in (before, now):
        await MeterReportServiceStub(channel).collect([report])
    asked = partial(query.meter, "meter_instance_pvm_gc_time", service, samples.instance(service))
    await eventually(asked, until=lambda found: found == 47)


async def test_an_event_shows(channel: Channel, query: OapQuery) -> None:
    service = samples.unique("event")
    source = Source(service=service, service_instance=samples.instance(service))
    sent = Event(uuid=service, source=source, name="Deploy", message="v2", parameters={"by": "hand"})
    sent.start_time, sent.layer = samples.now_ms(), "GENERAL"
    await EventServiceStub(channel).collect([sent])

    (event,) = await eventually(lambda: query.events(service))
    assert (event.name, event.message, event.parameters) == ("Deploy", "v2", {"by": "hand"})


async def test_segments_over_http(oap: Oap, query: OapQuery) -> None:
    sent = samples.segment(samples.unique("http"))
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.post(f"http://{oap.http_address}/v3/segments", json=[sent.to_dict()])
    assert reply.status_code == 200
    (line,) = await eventually(lambda: query.traces(sent.service))
    assert line.trace_id == sent.trace_id


async def test_segments_over_kafka(kafka: Kafka, kafka_oap: Oap) -> None:
    sent = samples.segment(samples.unique("kafka"))
    async with AIOKafkaProducer(bootstrap_servers=kafka.address) as producer:
        key = sent.trace_segment_id.encode()
        await producer.send_and_wait("skywalking-segments", bytes(sent), key=key)
    async with OapQuery(kafka_oap.http_address) as query:
        (line,) = await eventually(lambda: query.traces(sent.service))
    assert line.trace_id == sent.trace_id


async def test_a_token_is_asked_for_on_grpc(token_oap: Oap) -> None:
    async with Channel("127.0.0.1", token_oap.ports[0]) as channel:
        report = TraceSegmentReportServiceStub(channel)
        with pytest.raises(GRPCError) as refused:
            await report.collect([samples.segment("token")])
        assert refused.value.status is Status.PERMISSION_DENIED
        await report.collect([samples.segment("token")], metadata={"authentication": TOKEN})
