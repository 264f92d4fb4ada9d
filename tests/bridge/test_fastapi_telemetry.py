"""FastAPI's own telemetry, which begins where it finds a provider: the bridge's is none."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from anyio.lowlevel import checkpoint
from opentelemetry import trace

from asgi.calling import traced
from swagent import local_span
from swagent.opentelemetry import install, uninstall

fastapi = pytest.importorskip("fastapi")
pytest.importorskip("fastapi.telemetry")


class Provider(trace.TracerProvider):
    """An application's."""

    def get_tracer(self, *_: Any, **__: Any) -> trace.Tracer:
        """One that records nothing."""
        return trace.NoOpTracer()


def application(seen: list[bool], **settings: Any) -> Any:
    """An application with one endpoint, that notes for each request whether FastAPI's telemetry is there."""
    app = fastapi.FastAPI(**settings)

    async def read(item: str) -> dict[str, str]:
        with local_span("inside"):
            await checkpoint()
        return {"item": item}

    async def note(request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        seen.append("fastapi.telemetry" in request.scope)
        return await call_next(request)

    app.get("/orders/{item}")(read)
    app.middleware("http")(note)
    return app


@pytest.mark.anyio
async def test_it_does_not_begin_and_has_no_spans() -> None:
    seen: list[bool] = []
    async with traced(application(seen)) as shop, shop.client() as client:
        assert (await client.get("/orders/17")).status_code == 200
        [segment] = await shop.segments()
    assert seen == [False]
    assert sorted(span.operation for span in segment.spans) == ["GET:/orders/{item}", "inside"]
    [inside] = [span for span in segment.spans if span.operation == "inside"]
    assert inside.parent_span_id == 0


@pytest.mark.anyio
async def test_it_begins_with_a_provider_of_the_application() -> None:
    seen: list[bool] = []
    app = application(seen, telemetry={"tracer_provider": Provider()})
    async with traced(app) as shop, shop.client() as client:
        assert (await client.get("/orders/17")).status_code == 200
        recorded = await shop.segments()
    assert seen == [True]
    assert "GET:/orders/{item}" in [span.operation for segment in recorded for span in segment.spans]


@pytest.mark.parametrize("name", ["fastapi.telemetry._asgi", "fastapi.telemetry._runtime"])
def test_its_own_question_is_given_back_with_the_bridge(name: str) -> None:
    asked, ours = importlib.import_module(name), trace.get_tracer_provider()
    assert asked._unconfigured(ours)
    assert not asked._unconfigured(Provider())
    uninstall()
    assert asked._unconfigured is importlib.import_module("fastapi.telemetry._api")._unconfigured
    assert not asked._unconfigured(ours)
    assert install(instrument=False)
    assert asked._unconfigured(ours)
