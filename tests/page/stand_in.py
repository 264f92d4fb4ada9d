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
from starlette.types import ASGIApp

sys.path.insert(0, str(Path(__file__).parent.parent))
from page.answers import Answers
from swagent.collector.api.app import PAGE
from swagent.collector.api.assets import Assets
from swagent.collector.api.models import ANSWERS
from swagent.collector.api.profile_order import PATH as PROFILES
from swagent.collector.gate import Gate


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
            Route(PROFILES, self._order, methods=["POST"]),
            *(Route(path, _answering(answers, path)) for path in ("/api/status", *ANSWERS)),
            Mount("/assets", assets),
        ]
        return Gate(Starlette(routes=routes), "127.0.0.1", ("GET", "HEAD"), names_matter=True, orders=(PROFILES,))

    async def _order(self, request: Request) -> Response:
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


MADE_UP = {
    "/api/status": Answers.status,
    "/api/traces/{trace:path}/findings": Answers.trace_findings,
    "/api/findings": Answers.findings,
    "/api/instances": Answers.instances,
    "/api/processes": Answers.processes,
    "/api/process": Answers.process,
    "/api/losses": Answers.losses,
    "/api/meters": Answers.meters,
    "/api/meters/series": Answers.series,
    "/api/ledgers": Answers.ledgers,
    "/api/events": Answers.events,
    "/api/profiles": Answers.profiles,
    "/api/profiles/{task:path}": Answers.profile,
}


def _answering(answers: Answers, path: str) -> Callable[[Request], Response]:
    def respond(request: Request) -> Response:
        query = dict(request.query_params)
        try:
            if path in MADE_UP:
                found = MADE_UP[path](answers, **request.path_params, query=query)  # type: ignore[operator]
            else:
                found = answers.ask(path, query, **request.path_params)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        if found is None:
            name = ", ".join(map(str, request.path_params.values()))
            return JSONResponse({"error": f"nothing is kept of {name!r}: it never came, or fell out"}, 404)
        if path != "/api/meters/series":
            found["version"] = answers.version
        return JSONResponse(found, headers={"cache-control": "no-store"})

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
        answers.close()


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
