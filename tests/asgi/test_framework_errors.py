"""Quart and Falcon answer exceptions themselves: these never leave the application, and are in the spans."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import falcon.asgi
import pytest
from quart import Quart

from asgi.calling import tags, traced

pytestmark = pytest.mark.anyio


class Missing(Exception):
    """Answered with 404."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    # each framework logs the exceptions that it answers
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def failure(kind: str) -> Exception:
    return Missing() if kind == "missing" else LookupError("no such lamp")


def quart_app() -> Any:
    app = Quart("shop")

    @app.get("/<kind>")
    async def view(kind: str) -> str:
        raise failure(kind)

    @app.errorhandler(Missing)
    async def answer(error: Missing) -> tuple[str, int]:
        return "no such item", 404

    return app


def falcon_app() -> Any:
    class View:
        async def on_get(self, request: Any, response: Any, kind: str) -> None:
            if kind == "busy":
                raise falcon.HTTPServiceUnavailable
            raise failure(kind)

    async def answer(request: Any, response: Any, error: Exception, params: object) -> None:
        response.status = 404

    app: Any = falcon.asgi.App()
    app.add_route("/{kind}", View())
    app.add_error_handler(Missing, answer)
    return app


@pytest.fixture(autouse=True)
def on_asyncio(anyio_backend_name: str) -> None:
    if anyio_backend_name == "trio":
        pytest.skip("both run on asyncio")


@pytest.fixture(params=[quart_app, falcon_app])
def app(request: pytest.FixtureRequest) -> Any:
    return request.param()


async def test_an_exception_that_the_framework_answers_is_recorded(app: Any) -> None:
    async with traced(app) as shop, shop.client(raises=False) as client:
        assert (await client.get("/lamp")).status_code == 500
        span = await shop.span()
    assert span.is_error
    [log] = [dict(log.data) for log in span.logs]
    assert (log["event"], log["error.kind"], log["message"]) == ("error", "LookupError", "no such lamp")
    assert log["stack"].endswith(("in view", "in on_get"))


async def test_an_exception_that_is_answered_otherwise_is_no_failure(app: Any) -> None:
    async with traced(app) as shop, shop.client(raises=False) as client:
        await client.get("/missing")
        span = await shop.span()
    assert tags(span)["http.status_code"] == "404"
    assert not span.is_error
    assert not span.logs


async def test_an_answer_that_falcon_raises_is_no_exception() -> None:
    async with traced(falcon_app()) as shop, shop.client(raises=False) as client:
        await client.get("/busy")
        span = await shop.span()
    assert span.is_error
    assert not span.logs
