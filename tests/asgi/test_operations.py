"""The operation's name: the route's template where the framework shows it, and the path where it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI
from litestar import Litestar, get
from litestar import Router as LitestarRouter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Mount, Route, Router
from starlette.staticfiles import StaticFiles

from asgi.calling import answers, call, http_scope, span_of, tags, traced
from record.recorded import carrier_of
from swagent import exit_span
from swagent.asgi.lifespan import App, Receive, Scope, Send
from swagent.record.trace.model import Component

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


async def item(id: int) -> int:  # noqa: A002
    return id


def starlette() -> App:
    inner = Router([Route("/items/{id:int}", hello)])
    return Starlette(
        routes=[
            Route("/items/{id:int}", hello, methods=["GET"]),
            Mount("/outer", routes=[Mount("/inner", routes=[Route("/{leaf}", hello)])]),
            Mount("/tenants/{tenant}", app=inner),
            Mount("/files", app=StaticFiles(directory=HERE)),
            Mount("/raw", app=answers()),
            Host("items.test", app=inner),
        ]
    )


def fastapi(**options: str) -> FastAPI:
    app, sub = FastAPI(**options), FastAPI()  # type: ignore[arg-type]
    router, deeper = APIRouter(prefix="/shelf"), APIRouter(prefix="/box")
    for each in (app, sub, router, deeper):
        each.add_api_route("/items/{id}", item)
    router.include_router(deeper, prefix="/old")
    app.include_router(router, prefix="/v1")
    sub.include_router(deeper)
    app.mount("/sub", sub)
    return app


def litestar() -> App:
    @get("/items/{id:int}")
    async def handler() -> str:
        return "hello"

    app: App = Litestar([handler, LitestarRouter("/v1", route_handlers=[handler])])  # type: ignore[assignment]
    return app


async def operation(app: App, path: str, *, method: str = "GET", host: str = "shop.test", root_path: str = "") -> str:
    async with traced(app) as shop, shop.client(root_path=root_path) as client:
        await client.request(method, f"http://{host}{path}")
        return (await shop.span()).operation


TABLE: list[tuple[Callable[[], App], dict[str, str]]] = [
    (
        starlette,
        {
            "/items/7": "GET:/items/{id}",
            "/outer/inner/7": "GET:/outer/inner/{leaf}",
            "/tenants/acme/items/7": "GET:/tenants/{tenant}/items/{id}",
            # a mount's parameter that reads as another part of the path
            "/tenants/tenants/items/7": "GET:/{tenant}/tenants/items/{id}",
            "/files/calling.py": "GET:/files/calling.py",
            "/raw/a/b": "GET:/raw/a/b",
            "/outer/inner/": "GET:_unmatched",
            "/nowhere": "GET:_unmatched",
        },
    ),
    (
        fastapi,
        {
            "/items/7": "GET:/items/{id}",
            "/v1/shelf/items/7": "GET:/v1/shelf/items/{id}",
            "/v1/shelf/old/box/items/7": "GET:/v1/shelf/old/box/items/{id}",
            "/sub/items/7": "GET:/sub/items/{id}",
            "/sub/box/items/7": "GET:/sub/box/items/{id}",
            "/sub/nowhere": "GET:_unmatched",
            "/nowhere": "GET:_unmatched",
        },
    ),
    (
        litestar,
        {
            "/items/7": "GET:/items/{id}",
            "/v1/items/7": "GET:/v1/items/{id}",
            "/nowhere": "GET:_unmatched",
            "/items/seven": "GET:_unmatched",
        },
    ),
    (lambda: Starlette(routes=[Mount("/lite", app=litestar())]), {"/lite/items/7": "GET:/lite/items/{id}"}),
]


@pytest.mark.parametrize(("make", "path", "name"), [(make, *each) for make, names in TABLE for each in names.items()])
async def test_the_names(make: Callable[[], App], path: str, name: str) -> None:
    assert await operation(make(), path) == name


async def test_a_method_that_the_route_does_not_take_a_host_and_no_routes_at_all() -> None:
    assert await operation(starlette(), "/items/7", method="POST") == "POST:/items/{id}"
    assert await operation(starlette(), "/items/7", host="items.test") == "GET:/items/{id}"
    assert await operation(answers(), "/items/7?secret=1", method="PUT") == "PUT:/items/7"


async def test_fastapi_is_known_by_its_component() -> None:
    async with traced(fastapi()) as shop, shop.client() as client:
        await client.get("/items/7")
        assert (await shop.span()).component_id == Component.FASTAPI


@pytest.mark.filterwarnings("ignore:The `root_path` parameter is deprecated")
@pytest.mark.parametrize("path", ["/items/7", "/api/items/7", "/api/sub/items/7"])
async def test_no_root_path_is_part_of_the_name(path: str) -> None:
    expected = "GET:" + path.removeprefix("/api").replace("7", "{id}")
    assert await operation(fastapi(root_path="/api"), path) == expected, "the application's"
    if path.startswith("/api"):
        assert await operation(fastapi(), path, root_path="/api") == expected, "the server's"


@pytest.mark.parametrize("path", ["/" + "x" * 10_000, "/\udc80", "/\x00", "/%0d%0a", "//", ""])
async def test_any_path_is_served_and_recorded(path: str) -> None:
    async with traced(answers()) as shop:
        assert len(await call(shop.app, http_scope(path))) == 2
        assert (await shop.span()).operation.startswith("GET:")


@pytest.mark.parametrize("method", ["BREW", "get", "PROPFIND", "G" * 10_000])
async def test_a_method_that_is_not_known(method: str) -> None:
    span = await span_of(answers(), http_scope("/items", method=method))
    assert (span.operation, tags(span)["http.method"]) == ("_OTHER:/items", "_OTHER")


async def test_the_next_service_gets_the_template_and_the_path_from_before_the_router() -> None:
    found: list[str] = []

    def ask() -> None:
        with exit_span("GET:/who", peer="auth:80") as span:
            found.append(carrier_of(span.headers()).endpoint)

    def asking(app: App) -> App:
        async def before(scope: Scope, receive: Receive, send: Send) -> None:
            ask()
            await app(scope, receive, send)

        return before

    async def item(request: Request) -> PlainTextResponse:
        ask()
        return PlainTextResponse("")

    app = Starlette(routes=[Mount("/sub", app=asking(Starlette(routes=[Route("/items/{id}", item)])))])
    async with traced(asking(app)) as shop, shop.client() as client:
        await client.get("/sub/items/7")
        (segment,) = await shop.segments()
    assert segment.spans[-1].operation == "GET:/sub/items/{id}"
    assert found == ["GET:/sub/items/7", "GET:/sub/items/7", "GET:/sub/items/{id}"]


async def test_the_parameters_of_a_query_are_shown_where_they_are_wanted() -> None:
    for wanted in (True, False):
        async with traced(fastapi(), plugin_fastapi_collect_http_params=wanted) as shop, shop.client() as client:
            await client.get("/items/7?a=1&b=x&a=2")
            assert tags(await shop.span()).get("http.params") == ("a=[1,2]\nb=[x]" if wanted else None)
