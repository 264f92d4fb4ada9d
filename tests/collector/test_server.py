"""The collector's life: token, closing with open connections, starting again on the same port."""

from __future__ import annotations

import asyncio
import gc
import socket
import warnings
from contextlib import suppress

import pytest
from grpclib.client import Channel
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from collector.served import channel_to
from kit.stopwatch import Stopwatch
from swagent.collector.intake.connections import TrackingServer
from swagent.collector.server import Collector
from swagent.collector.store import contents, ring
from swagent.collector.store.limits import Limits
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio


async def report(channel: Channel, segment_id: str, metadata: dict[str, str] | None = None) -> None:
    segment = wire.SegmentObject("t", segment_id)
    await wire.TraceSegmentReportServiceStub(channel).collect([segment], metadata=metadata, timeout=5)


@pytest.mark.parametrize("metadata", [{}, {"authentication": "wrong"}, {"authentication": "sesam2"}])
async def test_wrong_token_is_denied(metadata: dict[str, str]) -> None:
    async with Collector(token="sesam") as collector, channel_to(collector) as channel:
        with pytest.raises(GRPCError) as denied:
            await report(channel, "s1", metadata)
        assert denied.value.status is Status.PERMISSION_DENIED
        await report(channel, "s2", {"authentication": "sesam"})
        assert [segment.segment_id for segment in collector.store.segments] == ["s2"]


async def test_without_a_token_any_is_accepted(collector: Collector, channel: Channel) -> None:
    await report(channel, "s1", {"authentication": "anything"})
    assert len(collector.store.segments) == 1


async def open_stream(channel: Channel) -> None:
    """A stream that never half-closes."""
    path = "/skywalking.v3.LogReportService/collect"
    async with channel.request(path, Cardinality.STREAM_UNARY, wire.LogData, wire.Commands) as stream:
        await stream.send_message(wire.LogData(service="shop"))
        await stream.recv_message()


async def test_restart_on_the_same_port_with_open_connections_and_streams() -> None:
    collector = Collector()
    async with collector:
        address = collector.address
        channel = channel_to(collector)
        await report(channel, "s1")
        hanging = asyncio.create_task(open_stream(channel))
        await collector.store.wait_for(lambda store: len(store.logs) == 1)
        watch = Stopwatch()
    assert watch.own_seconds < 1.0
    with pytest.raises(StreamTerminatedError):
        await hanging
    with pytest.raises(OSError, match="Connect"):
        await report(channel, "s2")
    async with collector:
        assert collector.address == address
        await report(channel, "s3")
    async with Collector(port=int(address.rsplit(":", 1)[1]), store=collector.store):
        await report(channel, "s4")
    channel.close()
    assert [segment.segment_id for segment in collector.store.segments] == ["s1", "s3", "s4"]


@pytest.mark.gate
async def test_flood_on_a_stream_leaves_room_for_others() -> None:
    async with Collector() as collector, channel_to(collector) as flooding, channel_to(collector) as other:
        path = "/skywalking.v3.TraceSegmentReportService/collect"
        async with flooding.request(path, Cardinality.STREAM_UNARY, wire.SegmentObject, wire.Commands) as stream:
            spans = [wire.SpanObject(operation_name="/a") for _ in range(20)]
            for number in range(300):
                await stream.send_message(wire.SegmentObject("t", f"s{number}", spans), end=number == 299)
            await report(other, "other")
            assert len(collector.store.segments) < 300
            await collector.store.wait_for(lambda store: len(store.segments) == 301, timeout=20)
            await stream.recv_message()


@pytest.mark.gate
async def test_client_that_does_not_read_cannot_hold_the_stop_up() -> None:
    collector = Collector()
    await collector.start()
    host, port = collector.address.rsplit(":", 1)
    _, writer = await asyncio.open_connection(host, int(port), limit=1)
    pings = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + bytes(8)
    writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    for _ in range(200):  # each ping asks for a reply that is not taken
        writer.write(pings * 1000)
        await asyncio.sleep(0)
    watch = Stopwatch()
    await collector.stop()
    assert watch.own_seconds < 1.0
    writer.transport.abort()


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("way", ["address", "http_address"])
async def test_a_client_that_comes_while_it_stops_is_hung_up_on(way: str, turns: int) -> None:
    """The loop takes several turns to make a connection of what the system has accepted."""
    collector = Collector(http_port=0)
    await collector.start()
    host, port = getattr(collector, way).rsplit(":", 1)
    with warnings.catch_warnings(record=True) as seen, socket.create_connection((host, int(port)), timeout=5) as client:
        warnings.simplefilter("always")
        for _ in range(turns):
            await asyncio.sleep(0)
        await collector.stop()
        await asyncio.sleep(0)  # an aborted transport is closed in the loop's next turn
        with suppress(ConnectionResetError):
            while client.recv(1000):  # its settings, where it had the time to send them
                pass
        gc.collect()
    assert not [str(each.message) for each in seen]


async def test_starting_twice_and_stopping_twice() -> None:
    collector = Collector()
    await collector.start()
    with pytest.raises(RuntimeError, match="runs already"):
        await collector.start()
    await collector.stop()
    await collector.stop()
    assert repr(collector).endswith(" stopped, 0 segments (0 duplicates), 0 logs, 0 meters; 0 services>")


async def test_a_port_in_use_is_an_os_error(collector: Collector) -> None:
    with pytest.raises(OSError, match="in use"):
        await Collector(port=int(collector.address.rsplit(":", 1)[1])).start()


async def test_ipv6_address_is_bracketed() -> None:
    collector = Collector(host="::1", port=1, store=Store())
    assert collector.address == "[::1]:1"


async def test_the_touched_names_of_grpclib_are_there() -> None:
    assert "_protocol_factory" in dir(TrackingServer.__base__)
    assert TrackingServer([])._server is None


async def test_a_record_that_is_too_old_falls_out_and_waiting_tests_hear_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ring, contents):
        monkeypatch.setattr(module, "STEP", 1)
    store = Store(limits=Limits(max_age=0.1))
    for number in range(20):
        store.add(Segment("t", f"s{number}", "shop", "i", ()))
    async with Collector(store=store):
        await store.wait_for(lambda store: not store.segments)
    assert store.dropped() == (20, 0)
