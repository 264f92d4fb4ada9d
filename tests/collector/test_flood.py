"""No request stops the collector: whatever is sent, the loop turns, and what is too much is refused."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from grpclib.client import Channel
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError

from collector.served import START, serving
from collector.test_malformed import send
from swagent.collector import http_protocol
from swagent.collector.intake import bodies, connections, json_pieces, messages, room
from swagent.collector.server import Collector
from swagent.collector.store import wire_pieces
from swagent.collector.store.protocol import parse
from swagent.collector.store.segment_index import index, index_bytes
from swagent.collector.store.trace_translation import decode_segment, segment_of
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio


Served = tuple[Collector, httpx.AsyncClient]


@pytest.fixture
def served(over_http: Served) -> Served:
    return over_http


async def connected(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = address.rsplit(":", 1)
    return await asyncio.open_connection(host, int(port))


async def turns_during(work: Awaitable[Any]) -> tuple[Any, int]:
    """The result of a work, and how often the loop turned meanwhile."""
    results: list[Any] = []
    turns = 0

    async def do() -> None:
        results.append(await work)

    async with anyio.create_task_group() as group:
        group.start_soon(do)
        while not results:
            turns += 1
            await anyio.lowlevel.checkpoint()
    return results[0], turns


def big_segment(spans: int = 5000) -> wire.SegmentObject:
    kinds = [wire.SpanType(0), wire.SpanType(1), wire.SpanType(2)]
    tags = [wire.KeyStringValuePair("key", "value")]
    each = [
        wire.SpanObject(number, number - 1, START + number, START + number + 9, [], f"/{number}", "p",
                        kinds[number % 3],                        tags=tags, is_error=number % 7 == 0)
        for number in range(spans)
    ]  # fmt: skip
    return wire.SegmentObject("t", "s", each, "shop", "i1")


@pytest.mark.gate
def test_a_segment_in_pieces_is_the_same_segment() -> None:
    body = bytes(big_segment(1200))
    assert len(body) > wire_pieces.SMALL
    assert len(list(wire_pieces.cut(body))) > 1
    assert b"".join(wire_pieces.cut(body)) == body
    assert index_bytes(body) == index(parse("SegmentObject", body), body)
    assert decode_segment(body) == segment_of(parse("SegmentObject", body))


async def test_many_empty_objects_are_refused_early(served: Served) -> None:
    collector, client = served
    for count in (300_000, 2_700_000):
        body = b"[" + b"{}," * count + b"{}]"
        answer, turns = await turns_during(client.post("/v3/segments", content=body))
        assert answer.status_code == 413
        assert "10,000" in answer.json()["error"]
        assert turns > 20
    assert collector.store.statistics().received.total() == 0


async def test_a_long_list_is_taken_while_the_loop_turns(served: Served) -> None:
    collector, client = served
    segments = [
        {"traceId": "t", "traceSegmentId": f'"[{number}]\\', "spans": [{"operationName": "},{" * 5}] * 3}
        for number in range(1000)
    ]
    answer, turns = await turns_during(client.post("/v3/segments", json=segments))
    assert (answer.status_code, answer.json()) == (200, {})
    assert turns > 100
    assert [each.segment_id for each in collector.store.segments] == [each["traceSegmentId"] for each in segments]
    assert {len(each.spans) for each in collector.store.segments} == {3}


async def test_the_spans_of_a_long_segment_are_taken_one_by_one(served: Served) -> None:
    collector, client = served
    spans = [{"spanId": number, "parentSpanId": number - 1, "operationName": "a" * 20} for number in range(3000)]
    body = {"traceId": "t", "traceSegmentId": "s", "spans": spans}
    answer, turns = await turns_during(client.post("/v3/segment", json=body))
    assert answer.status_code == 200
    assert turns > 100
    assert len(collector.store.segments[0].spans) == 3000


async def test_a_long_record_is_translated_beside_the_loop(served: Served) -> None:
    collector, client = served
    tags = [{"key": str(number), "value": "v"} for number in range(2000)]
    answer = await client.post("/v3/logs", json=[{"service": "shop", "tags": {"data": tags}}])
    assert answer.status_code == 200
    assert len(collector.store.logs[0].tags) == 2000


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"[]", []),
        (b" [ ] ", []),
        (b'[1, "a,]", {"b": [1, {"c": "\\"}"}]}]', [1, "a,]", {"b": [1, {"c": '"}'}]}]),
        (b'["\\\\", "\\\\\\""]', ["\\", '\\"']),
        ('["ü", "€"]'.encode(), ["ü", "€"]),
        (b'{"a": [1]}', {"a": [1]}),
    ],
)
def test_a_list_in_pieces(monkeypatch: pytest.MonkeyPatch, body: bytes, value: Any) -> None:
    monkeypatch.setattr(json_pieces, "_AT_ONCE", 0)
    assert json_pieces.read(body) == value == json.loads(body)


@pytest.mark.parametrize(
    "body", [b"[", b"[1", b"[1,]", b"[,1]", b"[1}", b'["a', b'["a\\', b"[1]]", b"[1] 2", b"[{]}]", b"", b"\xff"]
)
def test_bytes_that_are_no_list_are_none_in_pieces(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    monkeypatch.setattr(json_pieces, "_AT_ONCE", 0)
    with pytest.raises(ValueError):
        json_pieces.read(body)


async def test_an_element_has_an_end(served: Served) -> None:
    _, client = served
    answer = await client.post("/v3/segments", json=[{"traceId": "x" * json_pieces.MAX_ELEMENT}])
    assert answer.status_code == 413
    assert "characters" in answer.json()["error"]


async def test_many_messages_in_one_frame(collector: Collector, raw: Channel) -> None:
    path = "/skywalking.v3.LogReportService/collect"

    async def flood() -> None:
        async with raw.request(path, Cardinality.STREAM_UNARY, bytes, bytes, timeout=30) as stream:
            await stream.send_request()
            await stream._stream.send_data(struct.pack(">?I", False, 0) * 3000)
            await stream.end()
            await stream.recv_message()

    _, turns = await turns_during(flood())
    assert turns > 3000 // messages.AT_ONCE
    assert collector.store.statistics().received["logs"] == 3000


async def test_a_record_of_too_many_parts(collector: Collector, raw: Channel) -> None:
    labels = b"\x12\x00" * (wire_pieces.MAX_PARTS + 1)
    value = b"\x0a" + _length(labels) + labels
    span = b"\x52\x00" * (wire_pieces.MAX_PARTS + 1)
    for path, data in (
        ("MeterReportService/collect", value),
        ("TraceSegmentReportService/collect", b"\x1a" + _length(span) + span),
    ):
        with pytest.raises(GRPCError) as refused:
            await send(raw, path, data)
        assert refused.value.status is Status.INVALID_ARGUMENT
        assert "20,000 parts" in (refused.value.message or "")
    assert len(collector.store.meters) == 0


def _length(data: bytes) -> bytes:
    size, length = len(data), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*length, size])


async def half_sent(collector: Collector, sizes: Iterable[int], sent: int) -> list[asyncio.StreamWriter]:
    writers: list[asyncio.StreamWriter] = []
    for size in sizes:
        _, writer = await connected(collector.http_address)
        writer.write(f"POST /v3/segments HTTP/1.1\r\nhost: a\r\ncontent-length: {size}\r\n\r\n".encode() + b" " * sent)
        await writer.drain()
        writers.append(writer)
    return writers


async def test_half_sent_bodies_have_little_room(served: Served) -> None:
    """Their room is taken when the head says their size. What is small is taken still."""
    collector, client = served
    writers = await half_sent(collector, [room.MAX_BODY] * 4, 1)
    try:
        while (await client.post("/v3/segments", content=b" " * room.MAX_BODY)).status_code != 503:
            await anyio.lowlevel.checkpoint()
        assert (await client.post("/v3/segments", content=b"[]")).status_code == 200
    finally:
        for writer in writers:
            writer.close()
            await writer.wait_closed()
    while (await client.post("/v3/segments", content=b"[]" + b" " * 10_000_000)).status_code != 200:
        await anyio.lowlevel.checkpoint()


BODIES = {
    "POST /v3/segments": 413, "POST /v3/segment": 413, "POST /v3/logs": 413, "POST /v3/nothing": 404,
    "POST /api/import": 413, "POST /api/profiles": 413, "POST /api/status": 405, "GET /api/status": 200,
    "GET /api/nothing": 404,
}  # fmt: skip


async def first_line(collector: Collector, request: str, rest: str) -> bytes:
    """The first line of the answer to a request that does not end.

    :param request: method and path
    :param rest: of the head, and of the body what comes
    """
    address = collector.page_address if "/api/" in request else collector.http_address
    reader, writer = await connected(address)
    writer.write(f"{request} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{rest}".encode())
    try:
        return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("request_line", BODIES)
@pytest.mark.parametrize(
    "rest",
    [f"content-length: {10**12}\r\n\r\n", "transfer-encoding: chunked\r\n\r\n1fffff\r\n" + " " * 5000],
    ids=["by its head", "by its chunks"],
)
async def test_a_body_that_is_too_large_is_refused_before_its_end(
    monkeypatch: pytest.MonkeyPatch, request_line: str, rest: str
) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY", 4096)
    monkeypatch.setattr(bodies, "BODY_SECONDS", 3600)
    async with serving() as (collector, _):
        assert f" {BODIES[request_line]} ".encode() in await first_line(collector, request_line, rest)


@pytest.mark.parametrize("path", ["/v3/segments", "/api/import", "/api/profiles"])
async def test_a_body_has_an_end_in_time(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.02)
    async with serving() as (collector, _):
        assert b" 408 " in await first_line(collector, f"POST {path}", "content-length: 9\r\n\r\n[")


async def until_closed(reader: asyncio.StreamReader) -> None:
    """Fails when the peer does not close."""
    with anyio.fail_after(20), suppress(ConnectionResetError):
        await reader.read()


async def test_a_head_has_an_end_in_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, _ = served
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.02)
    reader, writer = await connected(collector.http_address)
    writer.write(b"POST /v3/segm")
    await until_closed(reader)
    writer.close()


async def test_connections_have_an_end(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, _ = served
    monkeypatch.setattr(http_protocol, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    for address in (collector.http_address, collector.address):
        open_ones = [await connected(address) for _ in range(2)]
        reader, writer = await connected(address)
        await until_closed(reader)
        for _, each in open_ones:
            assert not each.is_closing()
            each.close()
        writer.close()


async def test_a_message_over_grpc_has_an_end_in_time(
    collector: Collector, raw: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swagent.collector.intake.message_reader.BODY_SECONDS", 0.02)
    path = "/skywalking.v3.TraceSegmentReportService/collect"

    async def send_half() -> None:
        async with raw.request(path, Cardinality.STREAM_UNARY, bytes, bytes, timeout=30) as stream:
            await stream.send_request()
            await stream._stream.send_data(struct.pack(">?I", False, 9) + b"x")
            await stream.recv_message()

    with pytest.raises(GRPCError) as refused:
        await send_half()
    assert refused.value.status is Status.DEADLINE_EXCEEDED


async def test_half_sent_messages_have_little_room(collector: Collector, raw: Channel) -> None:
    """The prefix of a message says its size: the fifth of the largest ones is refused, and small ones are taken."""
    path = "/skywalking.v3.TraceSegmentReportService/collect"
    begin = struct.pack(">?I", False, room.MAX_BODY) + b"x"
    refused: list[GRPCError] = []

    async def send_half(done: anyio.Event) -> None:
        try:
            async with raw.request(path, Cardinality.STREAM_UNARY, bytes, bytes, timeout=30) as stream:
                await stream.send_request()
                await stream._stream.send_data(begin)
                await stream.recv_message()
        except GRPCError as error:
            refused.append(error)
            done.set()

    done = anyio.Event()
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(send_half, done)
        with anyio.fail_after(20):
            await done.wait()
        assert [error.status for error in refused] == [Status.RESOURCE_EXHAUSTED]
        assert await send(raw, "TraceSegmentReportService/collect", bytes(wire.SegmentObject("t", "s"))) == b""
        group.cancel_scope.cancel()
    assert len(collector.store.segments) == 1
