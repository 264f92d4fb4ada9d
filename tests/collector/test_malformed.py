"""Messages that a client must not send are refused with a status, and the server goes on."""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress

import pytest
from grpclib.client import Channel
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError
from hypothesis import given
from hypothesis import strategies as st

from swagent.collector.server import Collector
from swagent.collector.store.protocol import described, parse
from swagent.collector.store.wire_check import check
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio
PREFIX = "/skywalking.v3."
GOOD = bytes(wire.SegmentObject("t", "s", [wire.SpanObject(operation_name="/a")]))
BAD = [
    pytest.param(b"\x0a\xff", id="length cut short"),
    pytest.param(b"\x0a\x05ab", id="text cut short"),
    pytest.param(b"\xff\xff\xff", id="key cut short"),
    pytest.param(b"\xff" * 11, id="number too long"),
    pytest.param(b"\x0a\x02\xff\xfe", id="not UTF-8"),
    pytest.param(b"\x08\x01", id="number in a field of text"),
    pytest.param(b"\x18\x01", id="number in a field of messages"),
    pytest.param(b"\x1a\x02\x08\xff", id="cut short one level down"),
    pytest.param(b"\x0b\x0c", id="group"),
    pytest.param(b"\x00\x00", id="field number zero"),
]


async def send(channel: Channel, path: str, *messages: bytes) -> bytes | None:
    async with channel.request(PREFIX + path, Cardinality.STREAM_UNARY, bytes, bytes, timeout=50) as stream:
        await stream.send_request()
        for message in messages:
            await stream.send_message(message)
        await stream.end()
        return await stream.recv_message()


@pytest.mark.parametrize("bad", BAD)
async def test_malformed_message_is_refused_and_the_server_goes_on(
    collector: Collector, raw: Channel, bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = "TraceSegmentReportService/collect"
    with pytest.raises(GRPCError) as refused:
        await send(raw, path, GOOD, bad)
    assert refused.value.status is Status.INVALID_ARGUMENT
    assert "SegmentObject" in (refused.value.message or "")
    assert len(collector.store.segments) == 1, "what came before the bad message is kept"
    assert await send(raw, path, GOOD) == b""
    assert not caplog.records


async def test_unknown_fields_are_ignored(collector: Collector, raw: Channel) -> None:
    assert await send(raw, "TraceSegmentReportService/collect", GOOD + b"\xfa\x01\x01x\xf8\x01\x05") == b""
    assert collector.store.segments[0].trace_id == "t"


async def test_call_without_a_message(raw: Channel) -> None:
    with pytest.raises(GRPCError) as refused:
        await send(raw, "ManagementService/keepAlive")
    assert refused.value.status is Status.INVALID_ARGUMENT


async def send_frame(channel: Channel, frame: bytes) -> None:
    path = PREFIX + "TraceSegmentReportService/collect"
    async with channel.request(path, Cardinality.STREAM_UNARY, bytes, bytes, timeout=50) as stream:
        await stream.send_request()
        await stream._stream.send_data(frame, end_stream=True)
        await stream.recv_message()


@pytest.mark.parametrize(
    ("frame", "status"),
    [
        (struct.pack(">?I", True, 1) + b"x", Status.UNIMPLEMENTED),
        (struct.pack(">?I", False, 9) + b"x", Status.INVALID_ARGUMENT),
        (b"\x00\x00", Status.INVALID_ARGUMENT),
    ],
    ids=["compressed", "ends within a message", "ends within a prefix"],
)
async def test_malformed_framing(raw: Channel, frame: bytes, status: Status, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(GRPCError) as refused:
        await send_frame(raw, frame)
    assert refused.value.status is status
    assert not caplog.records


# an HTTP/1 request; HTTP/2's preface, empty settings and a frame of unknown type
@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
        + bytes([0, 0, 1, 0xFA, 0, 0, 0, 0, 0, 7]),
    ],
    ids=["not HTTP/2", "unknown frame"],
)
async def test_noise_on_a_connection(
    collector: Collector, raw: Channel, noise: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    host, port = collector.address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(noise)
    await reader.read(1)
    writer.close()
    await writer.wait_closed()
    assert await send(raw, "TraceSegmentReportService/collect", GOOD) == b""
    assert not caplog.records


@given(st.binary(max_size=60))
def test_nothing_is_raised_but_value_error_and_what_parses_is_sound(data: bytes) -> None:
    for name in ("SegmentObject", "Event", "MeterDataCollection"):
        with suppress(ValueError):
            check(data, described(name))
        try:
            message = parse(name, data)
        except ValueError:
            continue
        again = message.SerializeToString(deterministic=True)
        assert parse(name, again).SerializeToString(deterministic=True) == again
