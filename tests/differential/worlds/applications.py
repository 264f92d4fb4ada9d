"""Web applications in this process: behind the middleware, and by the frameworks' own hooks."""

from __future__ import annotations

from differential.program import Line, World, call, choices, lines

_ASGI = """
    import asyncio
    async def ask(app, path="/", method="GET", headers=(), body=b"", kind="http", more=None, wrap=asgi):
        sent = []
        scope = {"type": kind if isinstance(kind, str) else "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
                 # a server takes no other
                 "method": method if isinstance(method, str) else "GET",
                 "path": path, "raw_path": path.encode(), "query_string": b"q=1", "root_path": "", "scheme": "http",
                 "headers": [(b"host", b"local"), *headers], "client": ("127.0.0.1", 1), "server": ("local", 80),
                 "state": {}, "extensions": {}, **(more or {})}
        arriving = [{"type": "http.request", "body": body, "more_body": False}]
        if kind == "websocket":
            arriving = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "hi"},
                        {"type": "websocket.disconnect", "code": 1000}]
        async def receive():
            if arriving:
                return arriving.pop(0)
            return {"type": f"{kind}.disconnect"}
        class Server:
            # servers pass a method
            async def send(self, message):
                event("sent", message["type"], message.get("status"))
                sent.append(message)
        try:
            returned = await wrap(app)(scope, receive, Server().send)
        except Exception as error:
            return [sent, error]
        return sent if returned is None else [sent, returned]
    """
_ASGI_APPS = """
    import anyio.lowlevel
    async def plain(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"b")]})
        await send({"type": "http.response.body", "body": b"hello"})
    async def looks(scope, receive, send):
        event(describe(send)["is"], describe(receive)["is"], asyncio.iscoroutinefunction(send), type(scope))
        event(sorted(scope), scope["state"])
        await plain(scope, receive, send)
    async def streams(scope, receive, send):
        event(await receive())
        await send({"type": "http.response.start", "status": 206, "headers": iter([(b"x-a", b"b")])})
        for part in (b"a", b"b", b"c"):
            await send({"type": "http.response.body", "body": part, "more_body": True})
            await anyio.lowlevel.checkpoint()
        await send({"type": "http.response.body"})
        event(await receive())
    async def fails(scope, receive, send):
        raise LookupError("of an application") from ValueError("below")
    async def fails_later(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})
        raise LookupError("later")
    async def by_name(scope, receive, send):
        await send(message={"type": "http.response.start", "status": 200})
        await send(message={"type": "http.response.body", "body": b"a"})
    async def odd(scope, receive, send):
        await send({"type": "odd"})
    async def odd_status(scope, receive, send):
        await send({"type": "http.response.start", "status": "200"})
    async def nothing(scope, receive, send):
        return "a value"
    async def none(scope, receive, send):
        await send(None)
    async def late(scope, receive, send):
        await plain(scope, receive, send)
        await send({"type": "http.response.body", "body": b"more"})
    async def talks(scope, receive, send):
        event(await receive())
        await send({"type": "websocket.accept", "headers": []})
        event(await receive())
        await send({"type": "websocket.send", "text": "hello"})
        event(await receive())
    async def refuses(scope, receive, send):
        await send({"type": "websocket.close", "code": 1008})
    def sync(scope, receive, send):
        return plain(scope, receive, send)
    class Callable:
        async def __call__(self, scope, receive, send):
            await plain(scope, receive, send)
    callable_ = Callable()
    """
_APPS = choices(
    "plain | looks | streams | fails | fails_later | by_name | odd | odd_status | nothing | none | "
    "late | sync | callable_"
)
_MORE = {
    "path": "'/' | '/items/7' | '/nowhere' | '/fail' | '/caf\\xe9' | '/stream' | '/later'",
    "method": "'GET' | 'POST' | 'HEAD' | 'OPTIONS' | 'ODD'",
    "headers": "[(b'sw8', b'nonsense')] | [(b'X-A', b'1')] | [(b'accept', b'text/html')]",
    "body": "b'{\"a\": 1}'",
}
_LOOPS = ("asyncio", "uvloop", "trio")
ASGI = World(
    "asgi",
    (),
    _ASGI + _ASGI_APPS,
    (
        call(
            "await ask 1/5 x5",
            app=_APPS,
            **_MORE,
            more=(
                "{'state': None} | {'client': None, 'server': None} | {'headers': []} | {'path': None} | "
                "{'method': None} | {'extensions': None, 'http_version': '2'}"
            ),
        ),
        call("await ask 1/1 x2", app="talks | refuses | fails | nothing", kind="'websocket'", path="'/'"),
        call("await ask 1/1", app="nothing | fails", kind="'lifespan' | 'odd'"),
        Line("asyncio.iscoroutinefunction(asgi(plain).__call__)"),
    ),
    loops=_LOOPS,
)


def _framework(
    name: str, setup: str, *, modules: tuple[str, ...] = (), loops: tuple[str, ...] = _LOOPS, wrap: str = "asgi"
) -> World:
    """An ASGI application with routes for items, a failure and a stream, called `app`."""
    return World(
        name,
        modules or (name.partition("-")[0],),
        _ASGI + setup,
        (call("await ask 1/5 x5", app="app", **_MORE, wrap=wrap), *lines("type(app) | app.__call__")),
        loops=loops,
        length=4,
    )


FASTAPI = _framework(
    "fastapi",
    """
    from fastapi import Depends, FastAPI, HTTPException
    app = FastAPI()
    async def depends():
        event("begins")
        yield 1
        event("ends")
    @app.get("/items/{number}")
    async def item(number: int, d=Depends(depends)):
        return {"number": number}
    @app.post("/items/{number}")
    def post(number: int, body: dict):
        return body
    @app.get("/fail")
    def fail():
        raise LookupError("of a view")
    @app.get("/stream")
    def busy():
        raise HTTPException(503, "busy", headers={"x-a": "b"})
    @app.middleware("http")
    async def middle(request, call_next):
        event("in")
        response = await call_next(request)
        event("out", response.status_code)
        return response
    """,
)
_DJANGO = """
    from django.conf import settings
    if not settings.configured:
        settings.configure(ROOT_URLCONF="wsgi.django_urls", ALLOWED_HOSTS=["*"], SECRET_KEY="none", DEBUG=False,
                           LOGGING_CONFIG=None)
    from django.core.{0} import get_{0}_application
    app = get_{0}_application()
    """
DJANGO_ASGI = _framework(
    "django-asgi",
    _DJANGO.format("asgi"),
    loops=("asyncio",),
)
SANIC = _framework(
    "sanic",
    """
    import sanic
    sanic.Sanic.test_mode = True
    sanic.Sanic._app_registry.clear()
    app = sanic.Sanic("shop", configure_logging=False)
    async def item(request, number: int):
        event(request.path, request.ctx.__class__.__name__)
        return sanic.text(f"item {number}")
    async def fail(request):
        raise LookupError("of a view")
    app.add_route(item, "/items/<number:int>", methods=["GET", "POST"])
    app.add_route(fail, "/fail")
    """,
    loops=("asyncio", "uvloop"),
    wrap="lambda app: app",
)

_WSGI = """
    import io
    from wsgiref.handlers import SimpleHandler
    from wsgiref.util import setup_testing_defaults
    class Handler(SimpleHandler):
        os_environ = {}
        def log_exception(self, exc_info):
            event("log", exc_info[1])
    def environ_of(path="/", method="GET", headers=(), body=b"", more=None):
        environ = {"PATH_INFO": path, "REQUEST_METHOD": method, "CONTENT_LENGTH": str(len(body)), "QUERY_STRING": "q=1",
                   "CONTENT_TYPE": "application/json", "wsgi.input": io.BytesIO(body),
                   **{"HTTP_" + name.decode().upper(): value.decode() for name, value in headers}, **(more or {})}
        setup_testing_defaults(environ)
        return environ
    def ask(app, path="/", method="GET", headers=(), body=b"", more=None, wrap=wsgi):
        out, errors = io.BytesIO(), io.StringIO()
        Handler(io.BytesIO(body), out, errors, environ_of(path, method, headers, body, more)).run(wrap(app))
        return [out.getvalue().split(b"\\r\\n"), errors.getvalue()]
    """


def _wsgi_framework(name: str, setup: str, *calls: Line) -> World:
    return World(
        name,
        (name,),
        _WSGI + setup,
        (
            call(
                "ask 1/5 x5",
                app="app",
                **_MORE,
                more="{'SCRIPT_NAME': '/m'} | {'SERVER_PROTOCOL': 'HTTP/1.0'}",
                wrap="wsgi | lambda app: app | lambda app: app",
            ),
            call(
                "app 2/2",
                "environ = environ_of('/items/7'); start_response = lambda s, h, e=None: event(s, h); "
                "env = environ_of()",
                _follow="list({}) | {}.close() | type({}) is list | len({})",
            ),
            call("app.__call__ 2/2", environ="environ_of('/fail')", start_response="lambda s, h, e=None: event(s, h)"),
            *lines("describe(type(app).__call__) | type(app)"),
            *calls,
        ),
        length=4,
    )


FLASK = _wsgi_framework(
    "flask",
    """
    import flask
    app = flask.Flask("shop")
    @app.route("/items/<int:number>", methods=["GET", "POST"])
    def item(number):
        event(flask.request.path, flask.request.data)
        return f"item {number}", 200, {"X-A": "b"}
    @app.route("/fail")
    def fail():
        raise LookupError("of a view")
    @app.route("/stream")
    def stream():
        return flask.Response((part for part in ("a", "b")), mimetype="text/plain")
    @app.teardown_request
    def teardown(error):
        event("teardown", error)
    client = app.test_client()
    class Propagates(flask.Flask):
        testing = True
    """,
    Line("client.get('/items/7').data"),
    Line("client.get('/fail').status"),
    Line("describe(app.wsgi_app)"),
    Line(
        "app.wsgi_app(environ=environ_of('/items/7'), start_response=lambda s, h, e=None: event(s))",
        follow=("list({})",),
    ),
    Line("setattr(app, 'testing', True)", follow=("client.get('/fail')",)),
)
DJANGO = _wsgi_framework(
    "django",
    _DJANGO.format("wsgi"),
)


def _written(*paths: str) -> tuple[str, ...]:
    """Requests as they are sent."""
    kinds = (("GET", "X-A: b", ""), ("POST", "Content-Length: 3", "abc"), ("HEAD", "sw8: x", ""))
    return tuple(
        f"'{method} {path} HTTP/1.0\\r\\nHost: a\\r\\nConnection: close\\r\\n{extra}\\r\\n\\r\\n{body}'"
        for method, extra, body in kinds
        for path in paths
    )


AIOHTTP_SERVER = World(
    "aiohttp-server",
    ("aiohttp",),
    """
    import asyncio, aiohttp
    from aiohttp import web
    from aiohttp.test_utils import TestServer, make_mocked_request
    async def item(request):
        event(request.path, dict(request.match_info), await request.read())
        return web.Response(text=f"item {request.match_info['number']}")
    async def fail(request):
        raise LookupError("of a handler")
    async def gone(request):
        raise web.HTTPGone(text="gone")
    async def stream(request):
        response = web.StreamResponse(headers={"X-A": "b"})
        await response.prepare(request)
        await response.write(b"a")
        await response.write_eof()
        return response
    @web.middleware
    async def middle(request, handler):
        event("in")
        try:
            return await handler(request)
        finally:
            event("out")
    app = web.Application(middlewares=[middle])
    app.add_routes([web.get("/items/{number}", item), web.post("/items/{number}", item), web.get("/fail", fail),
                    web.get("/gone", gone), web.get("/stream", stream)])
    app.on_startup.append(lambda app: asyncio.sleep(0))
    app.on_response_prepare.append(lambda request, response: asyncio.sleep(0))
    server = TestServer(app)
    await server.start_server()
    async def ask(text):
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(text.encode())
        data = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return data.split(b"\\r\\n")
    at_end(server.close)
    """,
    (
        call("await ask 1/1 x6", text=_written("/items/7", "/fail", "/gone", "/stream", "/nowhere")),
        call("await app._handle 1/1", request="make_mocked_request('GET', '/items/7')"),
        *lines(
            "describe(web.Application._handle) | type(app) | app.router, app.middlewares | "
            "web.Application() | describe(web.Application.__init__)"
        ),
        *(Line(f"surface('aiohttp.web', {number})") for number in range(0, 900, 90)),
    ),
    loops=("asyncio", "uvloop"),
)

TORNADO = World(
    "tornado",
    ("tornado",),
    """
    import asyncio, tornado.web, tornado.httpserver, tornado.routing, tornado.netutil, tornado.httputil
    class Item(tornado.web.RequestHandler):
        def prepare(self):
            event("prepare", self.request.path)
        async def get(self, number):
            event(sorted(n for n in vars(self) if n[0] != "_"))
            self.write(f"item {number}")
        post = get
        def on_finish(self):
            event("finished", self.get_status())
        def log_exception(self, typ, value, tb):
            event("log", value)
            super().log_exception(typ=typ, value=value, tb=tb)
    class Fail(Item):
        def get(self):
            raise LookupError("of a handler")
    class Refuses(Item):
        def get(self):
            raise tornado.web.HTTPError(418, reason="tea")
    app = tornado.web.Application([(r"/items/(\\d+)", Item), (r"/fail", Fail), (r"/gone", Refuses)])
    sockets = tornado.netutil.bind_sockets(0, "127.0.0.1")
    server = tornado.httpserver.HTTPServer(app)
    server.add_sockets(sockets)
    at_end(server.close_all_connections)
    at_end(server.stop)
    port = sockets[0].getsockname()[1]
    async def ask(text):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text.encode())
        data = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return data.split(b"\\r\\n")
    matches = tornado.routing.PathMatches(r"/items/(\\d+)")
    request = tornado.httputil.HTTPServerRequest("GET", "/items/7")
    """,
    (
        call("await ask 1/1 x6", text=_written("/items/7", "/fail", "/gone", "/nowhere")),
        call("matches.match 1/1", request="request", _follow="sorted({})"),
        *lines("describe(tornado.web.RequestHandler.log_exception) | describe(tornado.routing.PathMatches.match)"),
        *(Line(f"surface('tornado.web', {number})") for number in range(0, 400, 40)),
    ),
    loops=("asyncio",),
)

WORLDS = tuple(each for each in vars().values() if isinstance(each, World))
