"""grpclib: the application's calls at both ends, and never the agent's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from grpclib.client import Channel, StreamStreamMethod, UnaryUnaryMethod
from grpclib.const import Cardinality, Handler, Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError
from grpclib.server import Server

from kit.servers import dead_address
from record.recorded import Recorder
from swagent import Agent, Config, exit_span, local_span
from swagent.testing import collector

from .ends import FAILURES, both_ends, check_failure, check_one_trace
from .loops import anyio_backend  # noqa: F401
from .watcher import Watcher

pytestmark = pytest.mark.anyio
INSTRUMENTED = ("grpclib",)
AGAINST = "its own server"
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


class Bytes(CodecBase):
    """Messages are bytes, which needs no generated code."""

    __content_subtype__ = "bytes"

    def encode(self, message: Any, message_type: Any) -> bytes:
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> bytes:
        return data


class Stock:
    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []
        self.has_begun = asyncio.Event()

    async def look(self, stream: Any) -> None:
        self.metadata.append(dict(stream.metadata))
        request = await stream.recv_message()
        with local_span("look"):
            if request == b"abort":
                raise GRPCError(Status.NOT_FOUND, "no lamp")
            if request == b"broken":
                raise RuntimeError("broken")
            if request == b"slow":
                self.has_begun.set()
                await asyncio.Event().wait()
        await stream.send_message(request)

    async def talk(self, stream: Any) -> None:
        async for request in stream:
            await stream.send_message(request)

    def __mapping__(self) -> dict[str, Handler]:
        return {
            "/stock.Stock/Look": Handler(self.look, Cardinality.UNARY_UNARY, bytes, bytes),
            "/stock.Stock/Talk": Handler(self.talk, Cardinality.STREAM_STREAM, bytes, bytes),
        }


@pytest.fixture
async def stock() -> Stock:
    return Stock()


@pytest.fixture
async def channel(stock: Stock) -> AsyncIterator[Channel]:
    server = Server([stock], codec=Bytes())
    await server.start("127.0.0.1", 0)
    port = server._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    async with Channel("127.0.0.1", port, codec=Bytes()) as channel:
        yield channel
    server.close()
    await server.wait_closed()


def _look(channel: Channel) -> Any:
    return UnaryUnaryMethod(channel, "/stock.Stock/Look", bytes, bytes)


async def test_a_call_is_a_span_at_each_end_and_one_trace(recorder: Recorder, channel: Channel) -> None:
    target = f"127.0.0.1:{channel._port}"
    with local_span("job"):
        assert await _look(channel)(b"lamp") == b"lamp"
    (called,), (served,) = await both_ends(recorder, 2)
    check_one_trace(recorder, called, served, target)


async def test_a_channel_that_is_there_shows_its_calls(recorder: Recorder, channel: Channel, watcher: Watcher) -> None:
    watcher.watch("grpclib")
    assert await _look(channel)(b"lamp") == b"lamp"
    with pytest.raises(GRPCError):
        await _look(channel)(b"abort")
    await both_ends(recorder, 4)
    (name, stream), aborted = watcher.requests
    assert (name, aborted[0]) == ("/stock.Stock/Look",) * 2
    assert watcher.responses == [(name, stream)]
    assert stream.trailing_metadata is not None
    assert not watcher.has_seen_ended


async def test_a_stream_ends_with_its_stream(recorder: Recorder, channel: Channel) -> None:
    talk = StreamStreamMethod(channel, "/stock.Stock/Talk", bytes, bytes)
    with local_span("job"):
        async with talk.open() as stream:
            for message in (b"a", b"b"):
                await stream.send_message(message)
                with local_span("work"):
                    assert await stream.recv_message() == message
            await stream.end()
    (called,), _ = await both_ends(recorder, 2)
    assert called.names == ["job", "/stock.Stock/Talk", "work", "work"]
    assert {span.parent_id for span in called.spans} == {-1, 0}


@FAILURES
async def test_a_failure_shows_with_its_status(
    asked: bytes, code: str, server_failed: bool, recorder: Recorder, channel: Channel
) -> None:
    with pytest.raises(GRPCError):
        await _look(channel)(asked)
    (called,), (served,) = await both_ends(recorder, 2)
    check_failure(called, served, code, server_failed)


async def test_a_call_that_its_caller_gives_up_is_no_failure(
    recorder: Recorder, channel: Channel, stock: Stock
) -> None:
    task = asyncio.ensure_future(_look(channel)(b"slow"))
    await stock.has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # the server counts in whole milliseconds, and may be the first to say that the time is over
    with pytest.raises((asyncio.TimeoutError, GRPCError)):
        await _look(channel)(b"slow", timeout=0.05)
    called = [span for each in recorder.segments for span in each.spans if span.kind.name == "EXIT"]
    assert [dict(span.tags)["outcome"] for span in called] == ["cancelled", "timed_out"]
    assert not any(span.failed for span in called)


async def test_a_server_that_is_not_there_shows(recorder: Recorder) -> None:
    with dead_address() as address:
        host, _, port = address.rpartition(":")
        async with Channel(host, int(port), codec=Bytes()) as channel:
            with pytest.raises(OSError):
                await _look(channel)(b"lamp")
    assert recorder.span("/stock.Stock/Look").failed


async def test_a_call_inside_a_call_carries_the_outer_one(recorder: Recorder, channel: Channel, stock: Stock) -> None:
    with exit_span("by hand", "stock:1") as span:
        await _look(channel)(b"lamp", metadata={"sw8": "a caller's", "x-own": "1"})
        carried = span.headers()["sw8"]
    called, _ = await both_ends(recorder, 2)
    assert [each.names for each in called] == [["by hand"]]
    assert (stock.metadata[0]["sw8"], stock.metadata[0]["x-own"]) == (carried, "1")


async def test_reports_of_the_agent_are_not_recorded() -> None:
    async with collector() as arrived:
        async with Agent(Config(service="shop", collector=arrived.address)):
            with local_span("job"):
                pass
        await arrived.wait_for(lambda arrived: len(arrived.segments) == 1)
        assert [segment.spans[0].operation for segment in arrived.segments] == ["job"]
