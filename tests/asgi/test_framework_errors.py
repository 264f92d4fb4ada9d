"""Quart and Falcon answer exceptions themselves: these never leave the application, and are in the spans."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import falcon.asgi
import pytest
from quart import Quart

from asgi.calling import tags, traced
from runtime.worlds import ASYNCIO, ASYNCIO_IDS

# both run on asyncio
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=ASYNCIO_IDS)]


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


@pytest.fixture(params=[quart_app, falcon_app])
def app(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.mark.parametrize(
    ("path", "status", "kinds"), [("/lamp", 500, ["LookupError"]), ("/missing", 404, []), ("/busy", 503, [])]
)
async def test_only_an_exception_that_is_a_failure_is_recorded(
    app: Any, path: str, status: int, kinds: list[str]
) -> None:
    """One that is answered otherwise is none, and an answer that Falcon raises is no exception."""
    if path == "/busy" and isinstance(app, Quart):
        pytest.skip("Quart raises no answer")
    async with traced(app) as shop, shop.client(raises=False) as client:
        assert (await client.get(path)).status_code == status
        span = await shop.span()
    assert (tags(span)["http.status_code"], span.is_error) == (str(status), status >= 500)
    logs = [dict(log.data) for log in span.logs]
    assert [log["error.kind"] for log in logs] == kinds
    for log in logs:
        assert (log["event"], log["message"]) == ("error", "no such lamp")
        assert log["stack"].endswith(("in view", "in on_get"))
