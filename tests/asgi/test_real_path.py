"""`http.url` shows the route, and on request the path; never the query."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from asgi.calling import answers, call, http_scope, tags, traced
from swagent import current_span
from swagent.asgi.lifespan import App
from swagent.request.description import use_endpoint_style

pytestmark = pytest.mark.anyio

PATHS = ["/items/7", "/items/8", "/items/7", "/nowhere"]


def routed(is_looked_at: bool) -> App:
    async def item(number: int) -> int:
        if is_looked_at:
            current_span()
        return number

    app = FastAPI()
    app.add_api_route("/items/{number}", item)
    return app


async def seen(app: App, **config: Any) -> list[tuple[str, str]]:
    async with traced(app, **config) as shop:
        for path in PATHS:
            await call(shop.app, http_scope(path, query_string=b"secret=1"))
        assert shop.app.faults.count == 0
        spans = [segment.spans[0] for segment in await shop.segments()]
    return [(span.operation, tags(span)["http.url"]) for span in spans]


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_the_path_is_shown_on_request(is_looked_at: bool) -> None:
    assert await seen(routed(is_looked_at), http_url_real_path=True) == [
        ("GET:/items/{number}", "http://shop.test/items/7"),
        ("GET:/items/{number}", "http://shop.test/items/8"),
        ("GET:/items/{number}", "http://shop.test/items/7"),
        ("GET:_unmatched", "http://shop.test/nowhere"),
    ]


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_the_route_is_shown_without_being_asked(is_looked_at: bool) -> None:
    shown = {url for _, url in await seen(routed(is_looked_at))}
    assert shown == {"http://shop.test/items/{number}", "http://shop.test/nowhere"}


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_operations_have_the_official_agents_names_on_request(is_looked_at: bool) -> None:
    try:
        assert await seen(routed(is_looked_at), endpoint_style="path", endpoint_limit=4) == [
            ("/items/7", "http://shop.test/items/7"),
            ("/items/8", "http://shop.test/items/8"),
            ("/items/7", "http://shop.test/items/7"),
            ("_unmatched", "http://shop.test/nowhere"),
        ]
        async with traced(routed(is_looked_at), endpoint_style="path", endpoint_limit=4) as shop:
            for number in range(4):
                await call(shop.app, http_scope(f"/items/{number}"))
            names = [segment.spans[0].operation for segment in await shop.segments()]
        assert names == ["/items/0", "/items/1", "_overflow", "_overflow"], "half of the room, since any client may ask"
    finally:
        use_endpoint_style("route")


async def test_many_paths_are_not_remembered() -> None:
    """One agent that shows paths, and one that does not, keep out of each other's way."""
    assert await seen(routed(False), http_url_real_path=True) != await seen(routed(False))
    async with traced(answers(), http_url_real_path=True) as shop:
        for number in range(100):
            await call(shop.app, http_scope(f"/{number}", route=Routed()))
        urls = {tags(segment.spans[0])["http.url"] for segment in await shop.segments()}
    assert len(urls) == 100


class Routed:
    path_format = "/{number}"
