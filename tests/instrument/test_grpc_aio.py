"""grpc on asyncio: all four kinds of calls, at both ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from record.recorded import Recorder
from swagent import exit_span, local_span
from swagent.record.trace.model import SpanKind, SpanRecord

from .ends import FAILURES, both_ends, check_failure, check_one_trace
from .loops import anyio_backend  # noqa: F401
from .watcher import Watcher

pytestmark = pytest.mark.anyio
INSTRUMENTED = ("grpc",)
AGAINST = "its own server"
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


class Stock:
    """A service of bytes, which needs no generated code."""

    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []
        self.has_begun = asyncio.Event()

    async def look(self, request: bytes, context: Any) -> bytes:
        self.metadata.append(dict(context.invocation_metadata()))
        with local_span("look"):
            if request == b"abort":
                await context.abort(grpc.StatusCode.NOT_FOUND, "no lamp")
            if request == b"broken":
                raise RuntimeError("broken")
            if request == b"slow":
                self.has_begun.set()
                await asyncio.Event().wait()
            return request

    async def many(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        for _ in range(3):
            with local_span("one"):
                yield request

    async def sum(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        return b"".join([request async for request in requests])

    async def talk(self, requests: AsyncIterator[bytes], context: Any) -> None:
        async for request in requests:
            await context.write(request)

    async def refuse(self, requests: AsyncIterator[bytes], context: Any) -> None:
        async for _ in requests:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no lamp")

    def blocking(self, request: bytes, context: Any) -> bytes:
        return request

    @property
    def handler(self) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler("stock.Stock", {
            "Look": grpc.unary_unary_rpc_method_handler(self.look),
            "Many": grpc.unary_stream_rpc_method_handler(self.many),
            "Sum": grpc.stream_unary_rpc_method_handler(self.sum),
            "Talk": grpc.stream_stream_rpc_method_handler(self.talk),
            "Refuse": grpc.stream_unary_rpc_method_handler(self.refuse),
            "RefuseAll": grpc.stream_stream_rpc_method_handler(self.refuse),
            "Blocking": grpc.unary_unary_rpc_method_handler(self.blocking),
        })  # fmt: skip


@pytest.fixture
async def stock() -> Stock:
    return Stock()


@pytest.fixture
async def target(stock: Stock) -> AsyncIterator[str]:
    server = grpc.aio.server(handlers=[stock.handler])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


@pytest.fixture
async def channel(target: str) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(target) as channel:
        yield channel


async def test_a_call_is_a_span_at_each_end_and_one_trace(recorder: Recorder, channel: Any, target: str) -> None:
    with local_span("job"):
        assert await channel.unary_unary("/stock.Stock/Look")(b"lamp") == b"lamp"
    (called,), (served,) = await both_ends(recorder, 2)
    check_one_trace(recorder, called, served, target)


async def test_calls_are_shown(recorder: Recorder, target: str, watcher: Watcher) -> None:
    watcher.watch("grpc")
    async with grpc.aio.insecure_channel(target) as channel:
        assert await channel.unary_unary("/stock.Stock/Look")(b"lamp") == b"lamp"
        with pytest.raises(grpc.aio.AioRpcError):
            await channel.unary_unary("/stock.Stock/Look")(b"abort")
        await both_ends(recorder, 4)
    look = "/stock.Stock/Look"
    assert [(name, sent.message) for name, sent in watcher.requests] == [(look, b"lamp"), (look, b"abort")]
    assert [(name, ended.message) for name, ended in watcher.responses] == [(look, None)]
    assert not watcher.has_seen_ended


async def test_streams_end_with_their_streams(recorder: Recorder, channel: Any) -> None:
    async def requests() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    with local_span("job"):
        answers = channel.unary_stream("/stock.Stock/Many")(b"a")
        assert [answer async for answer in answers] == [b"a"] * 3
        assert await channel.stream_unary("/stock.Stock/Sum")(requests()) == b"ab"
        assert [answer async for answer in channel.stream_stream("/stock.Stock/Talk")(requests())] == [b"a", b"b"]
        assert await channel.unary_unary("/stock.Stock/Blocking")(b"a") == b"a"
    (called,), served = await both_ends(recorder, 5)
    names = [f"/stock.Stock/{name}" for name in ("Many", "Sum", "Talk", "Blocking")]
    assert called.names == ["job", *names]
    assert {span.parent_id for span in called.spans} == {-1, 0}
    assert {dict(span.tags).get("grpc.status_code") for span in called.spans} == {None, "OK"}
    assert sorted(each.names for each in served) == sorted([[names[0], *["one"] * 3], *([name] for name in names[1:])])


@FAILURES
async def test_a_failure_shows_with_its_status(
    asked: bytes, code: str, server_failed: bool, recorder: Recorder, channel: Any
) -> None:
    with pytest.raises(grpc.aio.AioRpcError):
        await channel.unary_unary("/stock.Stock/Look")(asked)
    (called,), (served,) = await both_ends(recorder, 2)
    check_failure(called, served, code, server_failed)


async def test_a_deadline_shows_as_one(recorder: Recorder, channel: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError):
        await channel.unary_unary("/stock.Stock/Look")(b"slow", timeout=0.05)
    tags = dict(_called(recorder).tags)
    assert (tags["outcome"], tags["grpc.status_code"]) == ("timed_out", "DEADLINE_EXCEEDED")


@pytest.mark.parametrize("name", ["Refuse", "RefuseAll"])
async def test_a_call_that_is_written_by_hand_and_fails_leaves_no_task(
    name: str, recorder: Recorder, channel: Any
) -> None:
    kind = channel.stream_unary if name == "Refuse" else channel.stream_stream
    before = asyncio.all_tasks()
    call = kind(f"/stock.Stock/{name}")()
    await call.write(b"a")
    (reader,) = (each for each in asyncio.all_tasks() - before if "_consume_request" in repr(each.get_coro()))
    assert await call.code() == grpc.StatusCode.NOT_FOUND
    await asyncio.wait([reader], timeout=20)
    assert reader.done()
    with pytest.raises(asyncio.InvalidStateError):
        await call.write(b"b")
    await both_ends(recorder, 2)


async def test_an_iterator_of_the_application_is_its_own_to_end(recorder: Recorder, channel: Any) -> None:
    may_end, has_ended = asyncio.Event(), asyncio.Event()

    async def requests() -> AsyncIterator[bytes]:
        yield b"a"
        await may_end.wait()
        has_ended.set()

    call = channel.stream_unary("/stock.Stock/Refuse")(requests())
    assert await call.code() == grpc.StatusCode.NOT_FOUND
    await both_ends(recorder, 2)
    may_end.set()
    await has_ended.wait()


def _called(recorder: Recorder) -> SpanRecord:
    (span,) = (span for each in recorder.segments for span in each.spans if span.kind is SpanKind.EXIT)
    return span


async def test_a_cancelled_call_shows_as_one_at_each_end(recorder: Recorder, channel: Any, stock: Stock) -> None:
    task = asyncio.ensure_future(_await(channel.unary_unary("/stock.Stock/Look")(b"slow")))
    await stock.has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await both_ends(recorder, 2)
    spans = [span for each in recorder.segments for span in each.spans]
    assert [dict(span.tags)["outcome"] for span in spans] == ["cancelled"] * 3
    assert not any(span.failed for span in spans)


async def _await(call: Any) -> bytes:
    answer: bytes = await call
    return answer


async def test_a_call_inside_a_call_carries_the_outer_one(
    recorder: Recorder, channel: Any, target: str, stock: Stock
) -> None:
    with exit_span("by hand", target) as span:
        await channel.unary_unary("/stock.Stock/Look")(b"lamp", metadata=(("sw8", "a caller's"), ("x-own", "1")))
        carried = span.headers()["sw8"]
    called, _ = await both_ends(recorder, 2)
    assert [each.names for each in called] == [["by hand"]]
    assert (stock.metadata[0]["sw8"], stock.metadata[0]["x-own"]) == (carried, "1")
