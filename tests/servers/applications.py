"""Applications that know nothing of swagent, one for each kind of server. Each answers with its process id."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route


def raw(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """WSGI by hand."""
    body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


async def rsgi(scope: Any, protocol: Any) -> None:
    """granian's own interface, by hand."""
    headers = [("content-type", "text/plain")]
    if scope.proto == "ws":
        talk = await protocol.accept()
        await talk.send_str((await talk.receive()).data)
        protocol.close()
        return
    if scope.path == "/fail":
        raise LookupError("no such order")
    if scope.path == "/silent":
        return
    if scope.path == "/stream":
        stream = protocol.response_stream(203, headers)
        await stream.send_str(str(os.getpid()))
        return
    if scope.path == "/read":
        protocol.response_bytes(status=201, headers=headers, body=await protocol())
        return
    protocol.response_str(200, headers, str(os.getpid()))


async def item(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(os.getpid()))


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncGenerator[None]:
    import swagent  # noqa: PLC0415, RUF100  (asked when the application starts)
    from swagent.agent import running  # noqa: PLC0415, RUF100

    with swagent.local_span("start-up"):
        agent = running()
        # in one piece: workers write to one pipe
        print(f"the agent lives in {'nothing' if agent is None else _place()}\n", end="", flush=True)
        yield


def _place() -> str:
    from swagent.hosting import agent_thread  # noqa: PLC0415, RUF100

    return "the lifespan" if agent_thread.running() is None else "a thread"


asgi = Starlette(routes=[Route("/items/{id}", item)], lifespan=lifespan)


def flask() -> Any:
    """Flask's factory."""
    from flask import Flask  # noqa: PLC0415, RUF100

    app = Flask("shop")
    app.add_url_rule("/items/<id>", view_func=lambda id: str(os.getpid()))  # noqa: A006
    return app


def serve_aiohttp(port: int) -> None:
    from aiohttp import web  # noqa: PLC0415, RUF100  (optional)

    async def handle(request: web.Request) -> web.Response:
        if request.match_info["id"] == "broken":
            raise LookupError("nothing there")
        if request.match_info["id"] == "gone":
            raise web.HTTPGone
        return web.Response(text=str(os.getpid()))

    app = web.Application()
    app.router.add_get("/items/{id}", handle)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


def serve_tornado(port: int) -> None:
    import asyncio  # noqa: PLC0415, RUF100

    from tornado import web  # noqa: PLC0415, RUF100  (optional)

    class Item(web.RequestHandler):
        async def get(self, id: str) -> None:  # noqa: A002
            if id == "broken":
                raise LookupError("nothing there")
            if id == "gone":
                raise web.HTTPError(410)
            self.write(str(os.getpid()))

    async def serve() -> None:
        web.Application([(r"/items/(?P<id>\w+)", Item)]).listen(port, "127.0.0.1")
        await asyncio.Event().wait()

    asyncio.run(serve())


def serve_http_server(port: int) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # noqa: PLC0415, RUF100

    class Item(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/items/broken":
                raise LookupError("nothing there")
            body = str(os.getpid()).encode()
            self.send_response(410 if self.path == "/items/gone" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        # its end waits for the threads of its requests: a client has its answer a little before the thread has ended
        daemon_threads = False

    with Server(("127.0.0.1", port), Item) as server:
        server.serve_forever()


def serve_wsgiref(port: int) -> None:
    from wsgiref.simple_server import make_server  # noqa: PLC0415, RUF100

    server = make_server("127.0.0.1", port, raw)
    # raised inside of a request, wsgiref would take a KeyboardInterrupt for the application's error
    signal.signal(signal.SIGINT, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    import sys
    from contextlib import suppress

    with suppress(KeyboardInterrupt):
        globals()[f"serve_{sys.argv[1]}"](int(sys.argv[2]))
