"""aiohttp's client: one span for what its user calls one call, to the end of the body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import anyio
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from record.recorded import Recorder
from swagent import local_span
from swagent.record.trace.carrier import parse_sw8

from .http_client_checks import HttpClientChecks
from .http_server import PATIENCE, HttpServer
from .loops import anyio_backend  # noqa: F401
from .trees import trees

pytestmark = pytest.mark.anyio
INSTRUMENTED = ("aiohttp",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


class TestCalls(HttpClientChecks):
    library, component = "aiohttp", "AIOHTTP"

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        asyncio.run(self._get(url, headers, timeout))

    async def _get(self, url: str, headers: Mapping[str, str], timeout: float | None) -> None:
        options: dict[str, Any] = {"headers": headers, "timeout": aiohttp.ClientTimeout(timeout)}
        async with aiohttp.ClientSession() as session, session.get(url, **options) as response:
            await response.read()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


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


async def test_a_body_that_ends_too_early_failed(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        async with session.get(f"{server.url}/broken") as response:
            await response.read()
    assert recorder.span("/broken").failed


async def test_a_cancelled_call_shows_as_one(
    recorder: Recorder, session: aiohttp.ClientSession, server: HttpServer
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(session.get, f"{server.url}/held")
        assert await anyio.to_thread.run_sync(server.asked.wait, PATIENCE)
        group.cancel_scope.cancel()
    assert dict(recorder.span("/held").tags)["outcome"] == "cancelled"


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


async def test_a_request_that_cannot_be_sent_raises_as_ever(recorder: Recorder, session: aiohttp.ClientSession) -> None:
    for url in ("http://", "/orders"):
        with pytest.raises(aiohttp.ClientError):
            await session.get(url)
