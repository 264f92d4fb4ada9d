"""Clients of HTTP, against a server that says what it was sent."""

from __future__ import annotations

from differential.program import Line, World, call, choices, lines

_PATHS = choices(
    "URL + '/echo?a=1' | URL + '/status/404' | URL + '/status/503' | URL + '/moved' | "
    "URL + '/again' | URL + '/stream' | URL + '/text' | URL + '/broken' | URL | "
    "'http://' + NOWHERE + '/' | 'nonsense' | 'http://[::1'"
)
_RELATIVE = choices(
    "'/echo?a=1' | '/echo/17' | '/status/404' | '/status/503' | '/moved' | '/again' | '/stream' | "
    "'/text' | '/broken' | '' | URL + '/echo' | 'http://' + NOWHERE + '/' | 'ftp://x'"
)
_METHODS = choices("'GET' | 'POST' | 'HEAD' | 'put' | 'DELETE' | 'ODD'")
_HEADERS = choices(
    "{'x-a': 'b'} | {'X-A': 'b', 'sw8': 'mine'} | {'x-a': None} | {} | {b'x-a': b'1'} | {'bad\\nname': 'a'}"
)
_RESPONSE = choices(
    "{}.status_code | {}.text | {}.json() | {}.headers | {}.content | {}.raise_for_status() | "
    "{}.request | {}.history | {}.close() | {}"
)
_BODY = {"content": "b'abc' | 'text' | iter([b'a', b'b'])", "data": "{'a': '1'}", "json": "{'a': [1]} | object()"}

_HTTPX = {
    "params": "{'q': '1'} | [('q', '1')]",
    "headers": _HEADERS,
    "cookies": "{'c': '1'}",
    "auth": "('ann', 'secret') | lambda request: request",
    "follow_redirects": "True | False",
    "timeout": "5 | None | 5.0 | httpx.Timeout(5)",
    "extensions": "{}",
}
_HTTPX_RESPONSE = (
    *_RESPONSE,
    *choices(
        "{}.elapsed.__class__ | {}.is_closed | {}.read() | list({}.iter_bytes()) | "
        "{}.num_bytes_downloaded | {}.extensions.keys() | {}.url | {}.next_request"
    ),
)
_HTTPX_ASYNC_RESPONSE = (
    *_RESPONSE[:-2],
    *choices(
        "await {}.aread() | await {}.aclose() | {}.stream | {}.is_closed | {}.url | "
        "[each async for each in {}.aiter_bytes()]"
    ),
)


def _sync(name: str) -> World:
    return World(
        name,
        (name,),
        f"    import {name} as httpx"
        """
    def hook(message):
        event(type(message).__name__, getattr(message, "status_code", None))
    def app(environ, start_response):
        event(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        start_response("200 OK", [("content-type", "text/plain")])
        return [b"a", b"b"]
    def generator(request):
        response = yield request
        event(response.status_code)
    client = enter(httpx.Client(base_url=URL, event_hooks={"request": [hook], "response": [hook]}))
    local = enter(httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://local"))
    def broken(request):
        raise LookupError("of a transport") from ValueError("below")
    mocked = enter(httpx.Client(transport=httpx.MockTransport(broken)))
    """,
        (
            call("client.get 1/1 x4", url=_RELATIVE, **_HTTPX, _follow=_HTTPX_RESPONSE),
            call("client.post 1/1 x2", url=_RELATIVE, **_BODY, files="{'f': b'1'}", **_HTTPX, _follow=_HTTPX_RESPONSE),
            call("client.request 2/2", method=_METHODS, url=_RELATIVE, **_BODY, **_HTTPX, _follow=_HTTPX_RESPONSE),
            call("httpx.get 1/1", url=_PATHS, **_HTTPX, verify="False", _follow=_HTTPX_RESPONSE),
            call(
                "client.send 1/1 x2",
                "request = client.build_request('GET', '/echo') | httpx.Request('GET', URL + '/moved') | "
                "httpx.Request('GET', '/relative'); stream = True | False; auth = ('a', 'b'); follow_redirects = True",
                _follow=_HTTPX_RESPONSE,
            ),
            call("local.get 1/1", url="'/a' | '/b?c'", **_HTTPX, _follow=_HTTPX_RESPONSE),
            call("mocked.get 1/1", url="'http://a/'"),
            call("client.stream 2/2", method=_METHODS, url=_RELATIVE, _follow="{}.__enter__()"),
            *lines(
                "[each.read() for each in [client.stream('GET', '/stream').__enter__()]] | "
                "httpx.Client(transport=httpx.HTTPTransport(retries=1)).get(URL + '/broken') | "
                "client.__class__, client.send.__func__ is httpx.Client.send"
            ),
            *(Line(f"surface('{name}', {number})") for number in range(0, 400, 40)),
        ),
        peers=("http",),
    )


HTTPX, HTTPX2 = _sync("httpx"), _sync("httpx2")


def _async(name: str) -> World:
    return World(
        f"{name}-async",
        (name,),
        f"    import {name} as httpx"
        """
    async def hook(message):
        event(type(message).__name__, getattr(message, "status_code", None))
    async def app(scope, receive, send):
        import anyio.lowlevel
        event(scope["type"], scope["path"], (await receive())["type"])
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        if scope["path"] == "/broken":
            raise LookupError("of an application")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await anyio.lowlevel.checkpoint()
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"b"})
        event("answered")
    async def body():
        yield b"a"
        event("between")
        yield b"b"
    client = await aenter(httpx.AsyncClient(base_url=URL, event_hooks={"request": [hook], "response": [hook]}))
    local = await aenter(httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://local"))
    """,
        (
            call("await client.get 1/1 x3", url=_RELATIVE, **_HTTPX, _follow=_HTTPX_ASYNC_RESPONSE),
            call(
                "await client.post 1/1 x2",
                url=_RELATIVE,
                **{**_BODY, "content": "b'a' | body()"},
                **_HTTPX,
                _follow=_HTTPX_ASYNC_RESPONSE,
            ),
            call("await local.get 1/1 x4", url="'/a' | '/broken'", **_HTTPX, _follow=_HTTPX_ASYNC_RESPONSE),
            call(
                "await local.request 2/2 x2",
                method=_METHODS,
                url="'/a' | '/broken'",
                **{**_BODY, "content": "body()"},
                **_HTTPX,
                _follow=_HTTPX_ASYNC_RESPONSE,
            ),
            Line("describe(client.send)"),
            call(
                "await client.send 1/1",
                request="client.build_request('GET', '/echo') | httpx.Request('GET', '/no')",
                stream="True | False",
                _follow=_HTTPX_ASYNC_RESPONSE,
            ),
            Line("[await each.aread() async for each in client.stream('GET', '/stream')]"),
            *(Line(f"surface('{name}', {number})") for number in range(20, 400, 60)),
        ),
        peers=("http",),
        loops=("asyncio", "uvloop", "trio"),
    )


HTTPX_ASYNC, HTTPX2_ASYNC = _async("httpx"), _async("httpx2")


_URLLIB3_RESPONSE = choices(
    "{}.status | {}.data | {}.headers | {}.read() | {}.json() | {}.release_conn() | {}.close() | "
    "list({}.stream(2)) | {}.geturl() | {}.closed | {}.drain_conn() | {}.retries"
)
_URLLIB3 = {
    "body": "b'a' | 'a' | iter([b'a'])",
    "fields": "{'a': '1'}",
    "headers": _HEADERS,
    "json": "{'a': 1}",
    "retries": "False | 0 | 2 | urllib3.Retry(1, redirect=0) | None",
    "redirect": "True | False",
    "timeout": "5 | urllib3.Timeout(5)",
    "preload_content": "True | False",
    "decode_content": "True",
}
URLLIB3 = World(
    "urllib3",
    ("urllib3",),
    """
    import urllib3
    pool = enter(urllib3.PoolManager(retries=urllib3.Retry(1, backoff_factor=0, redirect=3)))
    host = enter(urllib3.HTTPConnectionPool(HOST.split(":")[0], int(HOST.split(":")[1]), retries=0))
    """,
    (
        call("pool.request 2/2 x3", method=_METHODS, url=_PATHS, **_URLLIB3, _follow=_URLLIB3_RESPONSE),
        call(
            "pool.urlopen 2/3",
            method=_METHODS,
            url=_PATHS,
            redirect="True | False",
            body="b'a'",
            headers=_HEADERS,
            preload_content="False",
            _follow=_URLLIB3_RESPONSE,
        ),
        call(
            "host.urlopen 2/12 x2",
            method=_METHODS,
            url=_RELATIVE,
            body="b'a'",
            headers=_HEADERS,
            retries="0 | False | 1",
            redirect="False",
            assert_same_host="False",
            timeout="5",
            pool_timeout="1",
            release_conn="True | False",
            chunked="True | False",
            body_pos="None",
            preload_content="False",
            _follow=_URLLIB3_RESPONSE,
        ),
        call("urllib3.request 2/2", method=_METHODS, url=_PATHS, **_URLLIB3, _follow=_URLLIB3_RESPONSE),
        *(Line(f"surface('urllib3', {number})") for number in range(0, 200, 30)),
    ),
    peers=("http",),
)

_AIOHTTP_RESPONSE = choices(
    "{}.status | await {}.text() | await {}.json() | await {}.read() | {}.close() | {}.headers | "
    "{}.release() | {}.raise_for_status() | {}.history | {}.request_info | {}.url | {}.closed | "
    "await {}.content.read(3) | {}.cookies"
)
_AIOHTTP = {
    "params": "{'q': '1'} | [('q', '1')]",
    "data": "b'a' | {'a': '1'}",
    "json": "{'a': 1} | object()",
    "headers": _HEADERS,
    "allow_redirects": "True | False",
    "max_redirects": "2",
    "timeout": "aiohttp.ClientTimeout(5)",
    "cookies": "{'c': '1'}",
    "auth": "aiohttp.BasicAuth('a', 'b')",
    "raise_for_status": "True | False",
    "trace_request_ctx": "{'x': 1}",
}
AIOHTTP = World(
    "aiohttp",
    ("aiohttp",),
    """
    import aiohttp
    config = aiohttp.TraceConfig()
    async def begin(session, context, params):
        event(params.method, params.url.path, context.trace_request_ctx, sorted(params.headers))
    async def end(session, context, params):
        event(params.response.status)
    async def failed(session, context, params):
        event(params.exception)
    config.on_request_start.append(begin)
    config.on_request_end.append(end)
    config.on_request_exception.append(failed)
    session = await aenter(aiohttp.ClientSession(trace_configs=[config]))
    plain = await aenter(aiohttp.ClientSession(base_url=URL))
    """,
    (
        call("await session.get 1/1 x3", url=_PATHS, **_AIOHTTP, _follow=_AIOHTTP_RESPONSE),
        call("await session.post 1/1", url=_PATHS, **_AIOHTTP, _follow=_AIOHTTP_RESPONSE),
        call("await plain.request 2/2", method=_METHODS, url=_RELATIVE, **_AIOHTTP, _follow=_AIOHTTP_RESPONSE),
        call("plain.get 1/1", url=_RELATIVE, **_AIOHTTP, _follow="await {} | await {}.__aenter__() | {}.close()"),
        call("await plain.ws_connect 1/1", url="'/echo' | '/status/404'", timeout="5", _follow="{}.closed"),
        call("await aiohttp.ClientSession().get 1/1", url=_PATHS, _follow=_AIOHTTP_RESPONSE),
        Line("aiohttp.ClientSession(trace_configs=[aiohttp.TraceConfig()])", follow=("await {}.close()",)),
        Line("session.trace_configs"),
        *(Line(f"surface('aiohttp', {number})") for number in range(0, 600, 60)),
    ),
    peers=("http",),
    loops=("asyncio", "uvloop"),
)


WORLDS = (HTTPX, HTTPX_ASYNC, HTTPX2, HTTPX2_ASYNC, URLLIB3, AIOHTTP)
