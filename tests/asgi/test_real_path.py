"""`http.url` shows the route, and on request the path; never the query."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from asgi.calling import answers, call, http_scope, segments_of, tags, traced
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


looked_at_or_not = pytest.mark.parametrize("is_looked_at", [False, True])


@looked_at_or_not
async def test_the_path_is_shown_on_request_and_the_route_without(is_looked_at: bool) -> None:
    app = routed(is_looked_at)
    spans = await seen(app, http_url_real_path=True)
    assert [name for name, _ in spans] == [*["GET:/items/{number}"] * 3, "GET:_unmatched"]
    assert [url for _, url in spans] == [f"http://shop.test{path}" for path in PATHS]
    shown = {url for _, url in await seen(app)}
    assert shown == {"http://shop.test/items/{number}", "http://shop.test/nowhere"}


@looked_at_or_not
async def test_operations_have_the_official_agents_names_on_request(is_looked_at: bool) -> None:
    settings: dict[str, Any] = {"endpoint_style": "path", "endpoint_limit": 4}
    try:
        names = ["/items/7", "/items/8", "/items/7", "_unmatched"]
        urls = [f"http://shop.test{path}" for path in PATHS]
        assert await seen(routed(is_looked_at), **settings) == list(zip(names, urls, strict=True))
        scopes = [http_scope(f"/items/{number}") for number in range(4)]
        names = [each.spans[0].operation for each in await segments_of(routed(is_looked_at), *scopes, **settings)]
        assert names == ["/items/0", "/items/1", "_overflow", "_overflow"], "half of the room, since any client may ask"
    finally:
        use_endpoint_style("route")


async def test_many_paths_are_not_remembered() -> None:
    """One agent that shows paths, and one that does not, keep out of each other's way."""
    assert await seen(routed(False), http_url_real_path=True) != await seen(routed(False))
    scopes = [http_scope(f"/{number}", route=Routed()) for number in range(100)]
    segments = await segments_of(answers(), *scopes, http_url_real_path=True)
    assert len({tags(segment.spans[0])["http.url"] for segment in segments}) == 100


class Routed:
    path_format = "/{number}"
