"""Django and Quart keep the matched route out of the scope, and show it elsewhere."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import django
import pytest
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpResponse
from django.urls import include, path, re_path
from quart import Blueprint, Quart, websocket
from starlette.applications import Starlette
from starlette.routing import Mount

from asgi.calling import span_of, tags, traced, websocket_scope
from record.recorded import carrier_of
from swagent import exit_span
from swagent.asgi.frameworks import follow_routes
from swagent.asgi.lifespan import App
from swagent.record.trace.model import Component

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def on_asyncio(anyio_backend_name: str) -> None:
    if anyio_backend_name == "trio":
        pytest.skip("both run on asyncio")


def quart() -> App:
    app, part = Quart("shop"), Blueprint("part", "part", url_prefix="/v1/<tenant>")

    @app.get("/items/<int:id>")
    @part.get("/items/<id>")
    async def item(**parts: object) -> str:
        return endpoint_sent_to("stock:80")

    @app.get("/fails/<id>")
    async def fail(id: str) -> str:  # noqa: A002
        raise LookupError(id)

    @app.websocket("/talk/<room>")
    async def talk(room: str) -> None:
        await websocket.accept()

    app.register_blueprint(part)
    served: App = app  # type: ignore[assignment]
    return served


def endpoint_sent_to(peer: str) -> str:
    with exit_span("call", peer) as span:
        return carrier_of(span.headers()).endpoint


async def async_view(request: Any, **parts: object) -> HttpResponse:
    return HttpResponse(endpoint_sent_to("stock:80"))


def sync_view(request: Any, **parts: object) -> HttpResponse:
    return HttpResponse("ok")


def fail(request: Any, **parts: object) -> HttpResponse:
    raise LookupError


@pytest.fixture(scope="module")
def django_app() -> Any:
    urls: Any = ModuleType("urls_of_the_shop")
    urls.urlpatterns = [
        path("", sync_view),
        path("items/<int:id>/", async_view),
        path("v1/<tenant>/", include([path("items/<id>", sync_view)])),
        re_path(r"^years/(?P<year>[0-9]{4})$", sync_view),
        path("fails/<id>", fail),
    ]
    sys.modules[urls.__name__] = urls
    settings.configure(ROOT_URLCONF=urls.__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x", LOGGING_CONFIG=None)
    django.setup()
    yield get_asgi_application()
    del sys.modules[urls.__name__]


async def operation(app: App, url: str) -> tuple[str, str]:
    """Its name, and what the application answers."""
    async with traced(app) as shop, shop.client(raises=False) as client:
        answer = await client.get(url)
        [segment] = await shop.segments()
    [span] = [span for span in segment.spans if span.operation != "call"]
    if "_unmatched" not in span.operation:
        assert tags(span)["http.url"] == "http://shop.test" + span.operation.partition(":")[2]
    return span.operation, answer.text


@pytest.mark.gate
async def test_quart() -> None:
    for url, expected in {
        "/items/7": "GET:/items/<int:id>",
        "/v1/acme/items/7": "GET:/v1/<tenant>/items/<id>",
        "/fails/7": "GET:/fails/<id>",
        "/items/seven": "GET:_unmatched",
        "/nowhere": "GET:_unmatched",
    }.items():
        assert (await operation(quart(), url))[0] == expected


async def test_a_websocket_of_quart() -> None:
    span = await span_of(quart(), websocket_scope("/talk/7"), {"type": "websocket.connect"})
    assert span.operation == "WEBSOCKET:/talk/<room>"


async def test_quart_mounted_in_starlette() -> None:
    name = "GET:/sub/items/<int:id>"
    app = Starlette(routes=[Mount("/sub", app=quart())])
    assert await operation(app, "/sub/items/7") == (name, name), "the next service gets the template, too"
    assert (await operation(app, "/sub/nowhere"))[0] == "GET:_unmatched"


@pytest.mark.parametrize(
    ("url", "expected"),
    {
        "/": "GET:/",
        "/items/7/": "GET:/items/<int:id>/",
        "/v1/acme/items/7": "GET:/v1/<tenant>/items/<id>",
        "/years/2026": "GET:/^years/(?P<year>[0-9]{4})$",
        "/fails/7": "GET:/fails/<id>",
        "/items/seven/": "GET:_unmatched",
        "/nowhere": "GET:_unmatched",
    }.items(),
)
async def test_django(django_app: App, url: str, expected: str) -> None:
    name, answer = await operation(django_app, url)
    assert name == expected
    if url == "/items/7/":
        assert answer == expected, "the next service gets the template, too"


async def test_an_exception_that_django_answers_is_recorded(django_app: App) -> None:
    async with traced(django_app) as shop, shop.client(raises=False) as client:
        assert (await client.get("/fails/7")).status_code == 500
        span = await shop.span()
    assert span.is_error
    [log] = [dict(log.data) for log in span.logs]
    assert (log["error.kind"], log["stack"].rpartition(" ")[2]) == ("LookupError", "fail")


async def test_a_request_of_django_says_that_it_is(django_app: App) -> None:
    for url in ("/items/7/", "/nowhere"):
        async with traced(django_app) as shop, shop.client(raises=False) as client:
            await client.get(url)
            [segment] = await shop.segments()
        assert Component.DJANGO in {span.component_id for span in segment.spans}


async def test_following_twice_is_following_once(django_app: App) -> None:
    follow_routes()
    method = ASGIHandler.resolve_request
    follow_routes()
    assert ASGIHandler.resolve_request is method


def test_frameworks_that_look_otherwise_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [ModuleType("quart.signals"), ModuleType("django.core.handlers.asgi")]
    for each in others:
        monkeypatch.setitem(sys.modules, each.__name__, each)
    before = [dict(vars(each)) for each in others]
    follow_routes()
    assert [vars(each) for each in others] == before
