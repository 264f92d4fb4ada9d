"""Requests that are not recorded: ignored operations, traces beyond the sampling rate, and what upstream does not
sample."""

from __future__ import annotations

from typing import Any

import pytest

from asgi.calling import CARRIER, SW8, answers, call, http_scope, traced
from swagent import exit_span, local_span
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.record.trace.carrier import format_sw8

pytestmark = pytest.mark.anyio


async def test_a_trace_that_upstream_does_not_sample_is_not_recorded() -> None:
    passed_on: list[dict[str, str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with local_span("inside"), exit_span("GET:/stock", peer="stock:80") as span:
            passed_on.append(span.headers())
        await answers()(scope, receive, send)

    async with traced(app) as shop:
        await call(shop.app, http_scope("/", [(b"sw8", format_sw8(CARRIER._replace(sampled=False)).encode())]))
        assert await shop.segments() == []
    assert passed_on == [{}]


@pytest.mark.usefixtures("one_window")
async def test_a_trace_that_upstream_samples_is_recorded_beyond_the_sampling_rate() -> None:
    async with traced(answers(), sample_n_per_3_secs=1) as shop:
        for _ in range(5):
            await call(shop.app, http_scope())
        await call(shop.app, http_scope("/", [(b"sw8", SW8)]))
        first, last = await shop.segments()
    assert last.trace_id == CARRIER.trace_id != first.trace_id


@pytest.mark.parametrize(
    ("path", "settings_"),
    [
        ("/logo.png", {}),
        ("/logo.PNG", {}),
        ("/page.x", {"ignore_suffix": (".x",)}),
        ("/health/live", {"trace_ignore_path": ("/health/*",)}),
        ("/health/a/b", {"trace_ignore_path": ("/nothing", "/health/**")}),
    ],
)
async def test_ignored_operations_are_not_recorded(path: str, settings_: dict[str, Any]) -> None:
    passed_on: list[dict[str, str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with exit_span("GET:/stock", peer="stock:80") as span:
            passed_on.append(span.headers())
        await answers()(scope, receive, send)

    async with traced(app, **settings_) as shop:
        assert len(await call(shop.app, http_scope(path, [(b"sw8", SW8)]))) == 2
        assert await shop.segments() == []
    assert passed_on == [{}]


@pytest.mark.usefixtures("one_window")
async def test_sampling_takes_the_first_of_each_window() -> None:
    async with traced(answers(), sample_n_per_3_secs=2) as shop:
        for _ in range(10):
            assert len(await call(shop.app, http_scope())) == 2
        assert len(await shop.segments()) == 2
