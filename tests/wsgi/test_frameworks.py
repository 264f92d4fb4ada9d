"""The operation's name and the component: the route's template where the framework shows it."""

from __future__ import annotations

from typing import Any

import pytest

from swagent.record.trace.model import Component
from swagent.request.following import follow_no_more
from wsgi.calling import ask, environ_of, traced
from wsgi.frameworks import bottle, django, falcon, flask, pyramid

pytestmark = pytest.mark.anyio


FRAMEWORKS = {
    flask: (Component.FLASK, "<int:number>"),
    bottle: (Component.BOTTLE, "<number:int>"),
    falcon: (Component.FALCON, "{number:int}"),
    pyramid: (Component.PYRAMID, r"{number:\d+}"),
    django: (Component.DJANGO, "<int:number>"),
}
CASES = [pytest.param(*case, id=case[0].__name__) for case in ((make, *rest) for make, rest in FRAMEWORKS.items())]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("make", "component", "parameter"), CASES)
async def test_a_request_is_named_by_its_route(make: Any, component: Component, parameter: str) -> None:
    async with traced(make()) as shop:
        bodies = [ask(shop.app, environ_of(path)).body for path in ("/items/7", "/v1/items/8", "/nowhere/9")]
        ask(shop.app, environ_of("/items/7", SCRIPT_NAME="/mounted"))
        spans = [span for segment in await shop.segments() for span in segment.spans]
    assert bodies[:2] == [b"item 7", b"item 8"]
    assert [span.operation for span in spans] == [
        f"GET:/items/{parameter}", f"GET:/v1/items/{parameter}", "GET:_unmatched", f"GET:/mounted/items/{parameter}"
    ]  # fmt: skip
    assert {span.component_id for span in spans} == {component}
    assert [dict(span.tags)["http.status_code"] for span in spans] == ["200", "200", "404", "200"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("length", "shown"), [(0, "a=[1,2]\nb=[]\nc=[x y]"), (7, "a=[1,2]")], ids=["whole", "cut"]
)  # fmt: skip
async def test_the_parameters_of_a_query_are_shown_where_they_are_wanted(length: int, shown: str) -> None:
    settings = {"plugin_flask_collect_http_params": True, "plugin_http_http_params_length_threshold": length}
    for make, expected in ((flask, shown), (bottle, None)):
        async with traced(make(), **settings) as shop:
            ask(shop.app, environ_of("/items/7", QUERY_STRING="a=1&b=&a=2&c=x%20y"))
            assert dict((await shop.span()).tags).get("http.params") == expected


async def test_the_routes_of_flask_are_seen_where_it_has_no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("flask")
    follow_no_more()
    own = module.Flask.preprocess_request
    # as Flask before 2.3 has it where blinker is not installed
    monkeypatch.setattr(module.signals, "signals_available", False, raising=False)
    async with traced(flask()) as shop:
        assert ask(shop.app, environ_of("/items/7")).body == b"item 7"
        assert (await shop.span()).operation == "GET:/items/<int:number>"
    assert module.Flask.preprocess_request is not own
    follow_no_more()
    assert module.Flask.preprocess_request is own
