"""aiohttp's client: one span for what its user calls one call, to the end of the body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import aiohttp
import anyio
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kit.servers import dead_address
from record.recorded import Recorder, recording
from swagent import exit_span, local_span
from swagent.record.suppression import suppress_instrumentation
from swagent.record.trace.carrier import parse_sw8

from .http_server import PATIENCE, HttpServer
from .trees import trees

ASYNCIO: list[Any] = [("asyncio", {"debug": True}), ("asyncio", {"use_uvloop": True})]
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio", "uvloop"])]
INSTRUMENTED = ("aiohttp",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_a_call_is_one_span_and_carries_the_context(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    with local_span("job"):
        async with session.get(f"http://user:secret@{server.address}/orders/17?token=secret") as response:
            assert await response.read() == b"done"
    assert trees(recorder) == (
        "Local job\n"
        f"  Exit /orders/{{id}} AIOHTTP/HTTP {server.address} http.method=GET "
        f"http.url={server.url}/orders/{{id}} http.status_code=200"
    )
    (carrier,) = server.carriers
    assert carrier is not None
    assert (carrier.trace_id, carrier.segment_id) == (recorder.only.trace_id, recorder.only.id)
    assert (carrier.span_id, carrier.address) == (1, server.address)


async def test_a_session_with_trace_configs_of_its_own_is_recorded_too(recorder: Recorder, server: HttpServer) -> None:
    seen: list[bool] = []

    async def note(session: Any, context: Any, params: Any) -> None:
        seen.append("sw8" in params.headers)

    config = aiohttp.TraceConfig()
    config.on_request_end.append(note)
    async with aiohttp.ClientSession(server.url, trace_configs=[config]) as session:
        await (await session.post("/orders", data=b"a")).read()
    assert recorder.names == [["/orders"]]
    assert seen == [False], "the application's own headers stay as they are"
    assert server.carriers != [None]


async def test_a_redirect_belongs_to_its_call_and_sends_each_host_its_own_address(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    await (await session.get(f"{server.url}/moved")).read()
    assert recorder.names == [["/moved"]]
    assert dict(recorder.span("/moved").tags)["http.status_code"] == "200"
    assert [carrier and carrier.address for carrier in server.carriers] == [server.address, server.moved_address]


async def test_a_redirect_to_a_host_that_may_not_know_carries_nothing(
    session: aiohttp.ClientSession, server: HttpServer
) -> None:
    with recording(propagate_to=[server.address]):
        await (await session.get(f"{server.url}/moved")).read()
    assert [carrier is not None for carrier in server.carriers] == [True, False]


async def test_a_streamed_body_belongs_to_the_call_and_what_is_done_meanwhile_does_not(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    with local_span("job"):
        async with session.get(f"{server.url}/stream") as response:
            with local_span("work"):
                server.release.set()
            assert await response.read() == b"halfhalf"
    assert [recorder.parent_of(name) for name in ("/stream", "work")] == ["job", "job"]
    assert recorder.span("work").end_time <= recorder.span("/stream").end_time


@pytest.mark.parametrize("raises", [False, True], ids=["answered", "raised"])
async def test_a_status_of_an_error_shows(raises: bool, recorder: Recorder, server: HttpServer) -> None:
    async with aiohttp.ClientSession(raise_for_status=raises) as session:
        with suppress(aiohttp.ClientResponseError):
            await (await session.get(f"{server.url}/missing")).read()
    assert trees(recorder).endswith("http.status_code=404 FAILED")


async def test_a_refused_connection_shows(recorder: Recorder, session: aiohttp.ClientSession) -> None:
    with dead_address() as address, pytest.raises(aiohttp.ClientConnectorError):
        await session.get(f"http://{address}/orders")
    assert recorder.span("/orders").failed
    assert recorder.span("/orders").logs


async def test_a_body_that_ends_too_early_failed(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        async with session.get(f"{server.url}/broken") as response:
            await response.read()
    assert recorder.span("/broken").failed


async def test_a_timeout_shows_as_one(recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await session.get(f"{server.url}/held", timeout=aiohttp.ClientTimeout(0.05))
    assert dict(recorder.span("/held").tags)["outcome"] == "timed_out"
    assert recorder.span("/held").failed


async def test_a_cancelled_call_shows_as_one(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(session.get, f"{server.url}/held")
        assert await anyio.to_thread.run_sync(server.asked.wait, PATIENCE)
        group.cancel_scope.cancel()
    assert dict(recorder.span("/held").tags)["outcome"] == "cancelled"


async def test_a_call_inside_a_call_carries_the_outer_one_and_the_agents_own_nothing(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    with exit_span("by hand", server.address):
        await (await session.get(f"{server.url}/orders", headers={"sw8": "a caller's, passed on"})).read()
        token = suppress_instrumentation.set(True)
        await (await session.get(f"{server.url}/orders")).read()
        suppress_instrumentation.reset(token)
    assert recorder.names == [["by hand"]]
    assert [carrier and carrier.segment_id for carrier in server.carriers] == [recorder.only.id, None]


async def test_a_request_that_cannot_be_sent_raises_as_ever(recorder: Recorder, session: aiohttp.ClientSession) -> None:
    for url in ("http://", "/orders"):
        with pytest.raises(aiohttp.ClientError):
            await session.get(url)


async def test_of_a_websocket_the_handshake_is_recorded(recorder: Recorder, session: aiohttp.ClientSession) -> None:
    carriers = []

    async def talk(request: web.Request) -> web.StreamResponse:
        carriers.append(parse_sw8(request.headers["sw8"]))
        websocket = web.WebSocketResponse()
        await websocket.prepare(request)
        await websocket.receive()
        return websocket

    app = web.Application()
    app.router.add_get("/talk/17", talk)
    async with TestServer(app) as peer:
        async with session.ws_connect(f"ws://127.0.0.1:{peer.port}/talk/17") as websocket:
            assert recorder.names == [["/talk/{id}"]]
            await websocket.send_str("a")
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(f"ws://127.0.0.1:{peer.port}/nowhere")
        address = f"127.0.0.1:{peer.port}"
    assert trees(recorder).splitlines() == [
        f"Exit /talk/{{id}} AIOHTTP/HTTP {address} http.method=GET http.url=ws://{address}/talk/{{id}} "
        "http.status_code=101",
        f"Exit /nowhere AIOHTTP/HTTP {address} http.method=GET http.url=ws://{address}/nowhere http.status_code=404 "
        "FAILED",
    ]
    assert [carrier and carrier.segment_id for carrier in carriers] == [recorder.segments[0].id]


async def test_calls_at_once_are_kept_apart(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    async def job(number: int) -> None:
        with local_span(f"job {number}"):
            await (await session.get(f"{server.url}/part{number}")).read()

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(job, number)
    assert sorted(recorder.names) == sorted([f"job {number}", f"/part{number}"] for number in range(20))
    assert len({carrier and carrier.segment_id for carrier in server.carriers}) == 20
