"""A stand-in for the collector: its page, under its policy, over made-up records. For tests, and to work on the page:

python tests/page/stand_in.py --port 12880 --traces 10000 --live
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

sys.path.insert(0, str(Path(__file__).parent.parent))
from page.answers import Answers
from swagent.collector.api.assets import Assets

PAGE = Path(__file__).parent.parent.parent / "swagent" / "collector" / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
}


class StandIn:
    """Serves in a thread of its own. Its records change by its methods, from any thread."""

    def __init__(self, answers: Answers, port: int = 0) -> None:
        self.answers = answers
        self.live = True  # whether the event stream is there
        self._port = port
        self._server: uvicorn.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._streams = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen; when this returns a connection is accepted, or waits to be."""
        listener = socket.create_server(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(self._app(), lifespan="off", log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(self._server, listener), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """As if the collector had been stopped: connections close, the address does not answer."""
        assert self._server is not None
        self._server.should_exit = True
        self.wake()
        self._thread.join()
        self._server = None

    def set_live(self, live: bool) -> None:
        """With False the event stream ends, and answers 503 from now on."""
        self.live = live
        self.wake()

    def add_traces(self, count: int) -> None:
        """New traces arrive now."""
        self.answers.add(count, int(time.time() * 1000))
        self.wake()

    def wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._turn)

    def _turn(self) -> None:
        event, self._changed = self._changed, asyncio.Event()
        event.set()

    def _run(self, server: uvicorn.Server, listener: socket.socket) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self._changed = asyncio.Event()
            await server.serve(sockets=[listener])

        asyncio.run(serve())

    def _app(self) -> ASGIApp:
        answers, assets = self.answers, Assets(PAGE)

        async def index(request: Request) -> Response:
            return assets.index(request.headers)

        routes = [
            Route("/", index),
            Route("/api/live", self._stream),
            Route("/api/status", _json(answers.status)),
            Route("/api/services", _json(answers.services)),
            Route("/api/services/{service:path}/endpoints", _json(answers.endpoints)),
            Route("/api/instances", _json(answers.instances)),
            Route("/api/traces", _json(answers.traces)),
            Route("/api/traces/{trace_id:path}/findings", _json(answers.trace_findings)),
            Route("/api/traces/{trace_id:path}", _json(answers.trace)),
            Route("/api/findings", _json(answers.findings)),
            Route("/api/errors", _json(answers.errors)),
            Route("/api/errors/{group}", _json(answers.error_group)),
            Route("/api/compare", _json(answers.compare)),
            Route("/api/median", _json(answers.median)),
            Route("/api/loop", _json(answers.loop)),
            Route("/api/heatmap", _json(answers.heatmap)),
            Route("/api/differences", _json(answers.differences)),
            Route("/api/tags", _json(answers.tags)),
            Route("/api/tags/{key:path}", _json(answers.tag_values)),
            Route("/api/map", _json(answers.map)),
            Route("/api/logs", _json(answers.logs)),
            Route("/api/logs/{number}", _json(answers.log)),
            Route("/api/processes", _json(answers.processes)),
            Route("/api/process", _json(answers.process)),
            Route("/api/losses", _json(answers.losses)),
            Route("/api/meters", _json(answers.meters)),
            Route("/api/meters/series", _json(answers.series, is_versioned=False)),
            Route("/api/ledgers", _json(answers.ledgers)),
            Route("/api/events", _json(answers.events)),
            Route("/api/profiles", _json(answers.profiles)),
            Route("/api/profiles", self._order, methods=["POST"]),
            Route("/api/profiles/{task:path}", _json(answers.profile)),
            Mount("/assets", assets),
        ]
        return _with_headers(Starlette(routes=routes))

    async def _order(self, request: Request) -> Response:
        if request.headers["content-type"] != "application/json":
            return JSONResponse({"error": "the body must be application/json"}, 415)
        made = self.answers.order_profile(await request.json())
        if made is None:
            return JSONResponse({"error": "'stock' is at another profile", "task": "waits"}, 409)
        self.wake()
        return JSONResponse(made, 201)

    async def _stream(self, _: Request) -> Response:
        if not self.live:
            return Response("no stream here", 503)
        return StreamingResponse(self._events(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _events(self) -> AsyncIterator[str]:
        yield ": here\n\n"
        seen = None
        while self.live and self._server is not None and not self._server.should_exit:
            changed = self._changed
            if self.answers.version != seen:
                seen = self.answers.version
                yield f'event: changed\ndata: {{"version": {seen}, "segments": 0, "logs": 0, "meters": 0}}\n\n'
                continue
            await changed.wait()


def _json(answer: Callable[..., Any], is_versioned: bool = True) -> Callable[[Request], Response]:
    answers: Answers = answer.__self__  # type: ignore[attr-defined]

    def respond(request: Request) -> Response:
        found = answer(**request.path_params, query=dict(request.query_params))
        if found is None:
            return JSONResponse(
                {"error": "Nothing of that name is kept here: it was never here, or made room for newer."}, 404
            )
        if is_versioned:
            found = {"version": answers.version, **found}
        return JSONResponse(found, headers={"cache-control": "no-store"})

    return respond


def _with_headers(app: ASGIApp) -> ASGIApp:
    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS.items()]
            await send(message)

        await app(scope, receive, send_with_headers)

    return respond


@contextmanager
def serving(answers: Answers, port: int = 0) -> Any:
    """A stand-in that serves inside the block."""
    stand_in = StandIn(answers, port)
    stand_in.start()
    try:
        yield stand_in
    finally:
        stand_in.stop()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=12880)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--live", action="store_true", help="a few more traces every second")
    args = parser.parse_args()
    with serving(Answers(args.traces), args.port) as stand_in:
        print(stand_in.url, flush=True)
        wait = threading.Event()
        try:
            while not wait.wait(1.0):
                if args.live:
                    stand_in.add_traces(3)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
