"""Every service of the protocol, over loopback."""

from __future__ import annotations

import math
from typing import Any

import pytest
from grpclib.client import Channel, StreamUnaryMethod, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from swagent.collector.intake.grpc import SERVICES, GrpcService
from swagent.collector.intake.room import Room
from swagent.collector.server import Collector
from swagent.collector.store import records
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span, SpanLog
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio
Pair = wire.KeyStringValuePair


def segment(number: int = 1) -> wire.SegmentObject:
    kind, layer = wire.SpanType.from_string("Exit"), wire.SpanLayer.from_string("Database")
    reference = wire.SegmentReference(
        wire.RefType.from_string("CrossThread"), "t", "parent", 3, "front", "f1", "/buy", "shop:80"
    )
    span = wire.SpanObject(
        span_id=0,
        parent_span_id=-1,
        start_time=1_700_000_000_000,
        end_time=1_700_000_000_042,
        refs=[reference],
        operation_name="/pay",
        peer="db:5432",
        span_type=kind,
        span_layer=layer,
        component_id=7013,
        is_error=True,
        tags=[Pair("a", "1"), Pair("a", "2")],
        logs=[wire.Log(1_700_000_000_001, [Pair("event", "error")])],
        skip_analysis=True,
    )
    return wire.SegmentObject("t", f"s{number}", [span], "shop", "i1", True)


BEGIN = 1_700_000_000_000
SPAN = Span(
    *(0, -1, BEGIN, BEGIN + 42, "/pay", "db:5432", "Exit", "Database", 7013, True, (("a", "1"), ("a", "2"))),
    (SpanLog(BEGIN + 1, (("event", "error"),)),),
    (Reference("CrossThread", "t", "parent", 3, "front", "f1", "/buy", "shop:80"),),
    True,
)
SEGMENT = Segment("t", "s1", "shop", "i1", (SPAN,), is_size_limited=True)


async def test_segments_by_stream_and_in_sync(collector: Collector, channel: Channel) -> None:
    stub = wire.TraceSegmentReportServiceStub(channel)
    assert await stub.collect([segment(1), segment(2)]) == wire.Commands()
    assert await stub.collect_in_sync(wire.SegmentCollection([segment(3), segment(4)])) == wire.Commands()
    assert collector.store.segments[0] == SEGMENT
    assert [kept.segment_id for kept in collector.store.trace("t")] == ["s1", "s2", "s3", "s4"]
    assert collector.store.statistics().received["segments"] == 4


async def test_logs(collector: Collector, channel: Channel) -> None:
    bodies = [
        wire.LogDataBody("text", text=wire.TextLog("hello")),
        wire.LogDataBody("json", json=wire.JsonLog("{}")),
        wire.LogDataBody("yaml", yaml=wire.YamlLog("a: 1")),
        wire.LogDataBody(),
    ]
    context = wire.TraceContext("t", "s", 4)
    tags = wire.LogTags([Pair("level", "WARNING")])
    lines = [wire.LogData(5, "shop", "i1", "/pay", body, context, tags, "GENERAL") for body in bodies]
    assert await wire.LogReportServiceStub(channel).collect(lines) == wire.Commands()
    kept = collector.store.logs
    assert kept[0] == records.LogLine(
        5, "shop", "i1", "/pay", "text", "hello", (("level", "WARNING"),), "GENERAL", "t", "s", 4
    )
    assert [(line.content_type, line.content) for line in kept[1:]] == [("json", "{}"), ("yaml", "a: 1"), ("", "")]


async def test_meters_inherit_from_the_first_of_their_set(collector: Collector, channel: Channel) -> None:
    stub = wire.MeterReportServiceStub(channel)
    label = [wire.Label("k", "v")]
    buckets = [wire.MeterBucketValue(count=1, is_negative_infinity=True), wire.MeterBucketValue(10.0, 2)]
    value = wire.MeterData(
        single_value=wire.MeterSingleValue("m", label, 1.5), service="shop", service_instance="i1", timestamp=7
    )
    histogram = wire.MeterData(histogram=wire.MeterHistogram("h", [], buckets))
    assert await stub.collect([value, histogram]) == wire.Commands()
    single = records.Meter("shop", "i1", "m", (("k", "v"),), 7, 1.5)
    assert collector.store.meters == [
        single,
        records.Meter("shop", "i1", "h", (), 7, None, ((-math.inf, 1), (10.0, 2))),
    ]
    newer = wire.MeterData(
        single_value=wire.MeterSingleValue("m", label, 2.5), service="shop", service_instance="i1", timestamp=8
    )
    assert await stub.collect_batch([wire.MeterDataCollection([newer]), wire.MeterDataCollection()]) is not None
    assert [(meter.name, meter.value) for meter in collector.store.meters] == [("m", 2.5), ("h", None)]
    assert collector.store.statistics().received["meters"] == 3


async def test_management(collector: Collector, channel: Channel) -> None:
    stub = wire.ManagementServiceStub(channel)
    properties = wire.InstanceProperties("shop", "i1", [Pair("language", "python")], "GENERAL")
    assert await stub.report_instance_properties(properties) == wire.Commands()
    for _ in range(2):
        assert await stub.keep_alive(wire.InstancePingPkg("shop", "i1", "GENERAL")) == wire.Commands()
    [instance] = collector.store.instances
    assert (instance.service, instance.instance, instance.layer) == ("shop", "i1", "GENERAL")
    assert (instance.properties, instance.keep_alives) == ((("language", "python"),), 2)
    assert instance.last_seen > 1_700_000_000
    assert collector.store.statistics().services == ("shop",)


async def test_events(collector: Collector, channel: Channel) -> None:
    kind = wire.Type.from_string("Error")
    event = wire.Event("u", wire.Source("shop", "i1", "/e"), "Start", kind, "text", {"a": "b"}, 1, 2, "L")
    assert await wire.EventServiceStub(channel).collect([event]) == wire.Commands()
    assert collector.store.records(records.Event) == [
        records.Event("u", "shop", "i1", "/e", "Start", "Error", "text", {"a": "b"}, 1, 2, "L"),
    ]


async def test_profile_tasks(collector: Collector, channel: Channel) -> None:
    stub = wire.ProfileTaskStub(channel)
    assert await stub.get_profile_task_commands(wire.ProfileTaskCommandQuery("shop", "i1", 1)) == wire.Commands()
    snapshot = wire.ThreadSnapshot("task", "s1", 9, 2, wire.ThreadStack(["outer", "inner"]))
    assert await stub.collect_snapshot([snapshot]) == wire.Commands()
    assert await stub.report_task_finish(wire.ProfileTaskFinishReport("shop", "i1", "task")) == wire.Commands()
    assert await stub.go_profile_report([wire.GoProfileData("task", b"abc", True)]) == wire.Commands()
    store = collector.store
    assert store.records(records.ThreadSnapshot) == [records.ThreadSnapshot("task", "s1", 9, 2, ("outer", "inner"))]
    assert store.records(records.ProfileFinish) == [records.ProfileFinish("shop", "i1", "task")]
    assert store.records(records.ProfileData) == [records.ProfileData("task", 3, True)]


async def test_configurations_and_attached_events(collector: Collector, channel: Channel) -> None:
    request = wire.ConfigurationSyncRequest("shop", "uuid")
    stub = wire.ConfigurationDiscoveryServiceStub(channel)
    assert await stub.fetch_configurations(request) == wire.Commands()
    context = wire.SpanAttachedEventSpanReference(trace_id="t", trace_segment_id="s1", span_id="0")
    event = wire.SpanAttachedEvent(
        wire.Instant(1, 5), "e", wire.Instant(2, 0), [Pair("a", "b")], [wire.KeyIntValuePair("n", 3)], context
    )
    assert await wire.SpanAttachedEventReportServiceStub(channel).collect([event]) == wire.Commands()
    assert collector.store.records(records.AttachedEvent) == [
        records.AttachedEvent("e", "t", "s1", "0", 1_000_000_005, 2_000_000_000, (("a", "b"),), (("n", 3),)),
    ]


@pytest.mark.parametrize("path", ["skywalking.v3.JVMMetricReportService/collect", "skywalking.v10.PprofTask/collect"])
async def test_what_other_agents_report_is_answered(path: str, channel: Channel) -> None:
    call: Any = StreamUnaryMethod(channel, f"/{path}", wire.KeyStringValuePair, wire.Commands)
    assert await call([Pair("heap", "1"), Pair("heap", "2")]) == wire.Commands()


async def test_a_call_of_another_protocol_is_refused_by_a_full_answer(channel: Channel) -> None:
    call: Any = UnaryUnaryMethod(channel, "/grpc.health.v1.Health/Check", wire.KeyStringValuePair, wire.Commands)
    async with call.open() as stream:
        await stream.send_message(Pair("a", "b"), end=True)
        with pytest.raises(GRPCError, match="not a call of SkyWalking's agents") as refused:
            await stream.recv_initial_metadata()
    assert refused.value.status is Status.UNIMPLEMENTED


def test_every_service_of_the_protocol_is_served() -> None:
    offered = {path for name in SERVICES for path in GrpcService(name, Store(), Room()).__mapping__()}
    bases = [value for name, value in vars(wire).items() if name.endswith("Base") and name != "ServiceBase"]
    assert offered == {path for base in bases for path in base().__mapping__()}
