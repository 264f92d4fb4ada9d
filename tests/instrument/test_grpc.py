"""grpc: all four kinds of calls, at both ends, blocking."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from kit.servers import dead_address
from record.recorded import Recorder
from swagent import exit_span, local_span
from swagent.instrument import settings
from swagent.record.suppression import suppress_instrumentation
from swagent.record.trace.model import SpanKind

from .ends import FAILURES, check_failure, check_one_trace, wait_for_ends
from .watcher import Watcher

INSTRUMENTED = ("grpc",)
AGAINST = "its own server"
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")
PATIENCE = 10.0


class Stock:
    """A service of bytes, which needs no generated code."""

    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []
        self.release = threading.Event()

    def look(self, request: bytes, context: Any) -> bytes:
        self.metadata.append(dict(context.invocation_metadata()))
        with local_span("look"):
            if request == b"abort":
                context.abort(grpc.StatusCode.NOT_FOUND, "no lamp")
            if request == b"broken":
                raise RuntimeError("broken")
            if request == b"slow":
                self.release.wait(PATIENCE)
            return request

    def many(self, request: bytes, context: Any) -> Iterator[bytes]:
        for _ in range(3):
            with local_span("one"):
                yield request

    def sum(self, requests: Iterator[bytes], context: Any) -> bytes:
        return b"".join(requests)

    def talk(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        yield from requests

    @property
    def handler(self) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler("stock.Stock", {
            "Look": grpc.unary_unary_rpc_method_handler(self.look),
            "Many": grpc.unary_stream_rpc_method_handler(self.many),
            "Sum": grpc.stream_unary_rpc_method_handler(self.sum),
            "Talk": grpc.stream_stream_rpc_method_handler(self.talk),
        })  # fmt: skip


@pytest.fixture
def stock() -> Stock:
    return Stock()


@pytest.fixture
def target(stock: Stock) -> Iterator[str]:
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool, [stock.handler])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        stock.release.set()
        server.stop(0).wait(PATIENCE)


@pytest.fixture
def channel(target: str) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(target) as channel:
        yield channel


def test_a_call_is_a_span_at_each_end_and_one_trace(recorder: Recorder, channel: Any, target: str) -> None:
    with local_span("job"):
        assert channel.unary_unary("/stock.Stock/Look")(b"lamp") == b"lamp"
    (called,), (served,) = wait_for_ends(recorder, 2)
    check_one_trace(recorder, called, served, target)


def test_streams_end_with_their_streams(recorder: Recorder, channel: Any) -> None:
    with local_span("job"):
        answers = channel.unary_stream("/stock.Stock/Many")(b"a")
        with local_span("work"):
            pass
        assert list(answers) == [b"a"] * 3
        assert channel.stream_unary("/stock.Stock/Sum")(iter([b"a", b"b"])) == b"ab"
        assert list(channel.stream_stream("/stock.Stock/Talk")(iter([b"a", b"b"]))) == [b"a", b"b"]
    (called,), served = wait_for_ends(recorder, 4)
    assert called.names == ["job", "/stock.Stock/Many", "work", "/stock.Stock/Sum", "/stock.Stock/Talk"]
    assert {span.parent_id for span in called.spans} == {-1, 0}
    assert {dict(span.tags).get("grpc.status_code") for span in called.spans} == {None, "OK"}
    assert sorted(each.names for each in served) == [
        ["/stock.Stock/Many", "one", "one", "one"], ["/stock.Stock/Sum"], ["/stock.Stock/Talk"]
    ]  # fmt: skip


def test_calls_are_shown(recorder: Recorder, target: str, watcher: Watcher) -> None:
    watcher.watch("grpc")
    with grpc.insecure_channel(target) as channel:
        assert channel.unary_unary("/stock.Stock/Look")(b"lamp") == b"lamp"
        assert list(channel.unary_stream("/stock.Stock/Many")(b"lamp")) == [b"lamp"] * 3
        assert channel.stream_unary("/stock.Stock/Sum")(iter([b"a", b"b"])) == b"ab"
        with pytest.raises(grpc.RpcError):
            channel.unary_unary("/stock.Stock/Look")(b"abort")
        wait_for_ends(recorder, 8)
    look, many, total = ("/stock.Stock/Look", "/stock.Stock/Many", "/stock.Stock/Sum")
    assert [name for name, _ in watcher.requests] == [look, many, total, look]
    assert [sent.details.method for _, sent in watcher.requests] == [look, many, total, look]
    assert [watcher.requests[place][1].message for place in (0, 1, 3)] == [b"lamp", b"lamp", b"abort"]
    assert [(name, ended.message) for name, ended in watcher.responses] == [
        (look, b"lamp"),
        (many, None),
        (total, b"ab"),
    ]
    assert not watcher.has_seen_ended
    assert sorted(dict(span.tags)["grpc.status_code"] for segment in recorder.segments for span in segment.spans
                  if span.kind is SpanKind.EXIT) == ["NOT_FOUND", "OK", "OK", "OK"]  # fmt: skip


def test_a_future_ends_when_it_is_done(recorder: Recorder, channel: Any) -> None:
    with local_span("job"):
        future = channel.unary_unary("/stock.Stock/Look").future(b"lamp")
        assert future.result(PATIENCE) == b"lamp"
    (called,), _ = wait_for_ends(recorder, 2)
    assert called.names == ["job", "/stock.Stock/Look"]


@FAILURES
def test_a_failure_shows_with_its_status(
    asked: bytes, code: str, server_failed: bool, recorder: Recorder, channel: Any
) -> None:
    with pytest.raises(grpc.RpcError):
        channel.unary_unary("/stock.Stock/Look")(asked)
    (called,), (served,) = wait_for_ends(recorder, 2)
    check_failure(called, served, code, server_failed)


def test_a_call_that_its_caller_gives_up_is_no_failure(recorder: Recorder, channel: Any, stock: Stock) -> None:
    with pytest.raises(grpc.RpcError):
        channel.unary_unary("/stock.Stock/Look")(b"slow", timeout=0.05)
    future = channel.unary_unary("/stock.Stock/Look").future(b"slow")
    future.cancel()
    called, _ = wait_for_ends(recorder, 2)
    assert [dict(each.spans[0].tags)["outcome"] for each in called] == ["timed_out", "cancelled"]
    assert not any(each.spans[0].failed for each in called)


def test_a_server_that_is_not_there_shows(recorder: Recorder) -> None:
    with dead_address() as address, grpc.insecure_channel(f"dns:///{address}") as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/stock.Stock/Look")(b"lamp")
    span = recorder.span("/stock.Stock/Look")
    assert (span.peer, dict(span.tags)["grpc.status_code"], span.failed) == (address, "UNAVAILABLE", True)


def test_an_ignored_method_is_not_recorded(recorder: Recorder, channel: Any, stock: Stock) -> None:
    settings.use(settings.Settings(grpc_ignored_methods=("/stock.Stock/Look",)))
    channel.unary_unary("/stock.Stock/Look")(b"lamp")
    token = suppress_instrumentation.set(True)
    channel.unary_unary("/stock.Stock/Sum")
    suppress_instrumentation.reset(token)
    with pytest.raises(grpc.RpcError):
        channel.unary_unary("/skywalking.v3.ManagementService/keepAlive")(b"")
    assert "sw8" not in stock.metadata[0]
    assert [each.names for each in recorder.segments] == [["look"]]


def test_a_call_inside_a_call_carries_the_outer_one(
    recorder: Recorder, channel: Any, target: str, stock: Stock
) -> None:
    with exit_span("by hand", target) as span:
        channel.unary_unary("/stock.Stock/Look")(b"lamp", metadata=(("sw8", "a caller's"), ("x-own", "1")))
        carried = span.headers()["sw8"]
    called, _ = wait_for_ends(recorder, 2)
    assert [each.names for each in called] == [["by hand"]]
    assert (stock.metadata[0]["sw8"], stock.metadata[0]["x-own"]) == (carried, "1")


def test_a_caller_with_a_traceparent_alone_shares_its_trace(recorder: Recorder, channel: Any) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    token = suppress_instrumentation.set(True)
    metadata = (("traceparent", f"00-{trace_id}-b7ad6b7169203331-01"),)
    channel.unary_unary("/stock.Stock/Look")(b"lamp", metadata=metadata)
    suppress_instrumentation.reset(token)
    _, (served,) = wait_for_ends(recorder, 1)
    assert served.trace_id == trace_id
