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


async def test_ipv6_address_is_bracketed() -> None:
    collector = Collector(host="::1", port=1, store=Store())
    assert collector.address == "[::1]:1"


async def test_a_record_that_is_too_old_falls_out_and_waiting_tests_hear_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ring, contents):
        monkeypatch.setattr(module, "STEP", 1)
    store = Store(limits=Limits(max_age=0.1))
    for number in range(20):
        store.add(Segment("t", f"s{number}", "shop", "i", ()))
    async with Collector(store=store):
        await store.wait_for(lambda store: not store.segments)
    assert store.dropped() == (20, 0)
