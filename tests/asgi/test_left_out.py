"""Requests that are not recorded: ignored operations, traces beyond the sampling rate, and what upstream does not
sample."""

from __future__ import annotations

from typing import Any

import pytest

from asgi.calling import CARRIER, SW8, answers, call, doing, http_scope, traced
from swagent import exit_span, local_span

pytestmark = pytest.mark.anyio


@pytest.mark.usefixtures("one_window")
async def test_a_trace_that_upstream_samples_is_recorded_beyond_the_sampling_rate() -> None:
    async with traced(answers(), sample_n_per_3_secs=1) as shop:
        for _ in range(5):
            await call(shop.app, http_scope())
        await call(shop.app, http_scope("/", [(b"sw8", SW8)]))
        first, last = await shop.segments()
    assert last.trace_id == CARRIER.trace_id != first.trace_id


@pytest.mark.parametrize(
    ("path", "sw8", "settings_"),
    [
        ("/logo.png", SW8, {}),
        ("/logo.PNG", SW8, {}),
        ("/page.x", SW8, {"ignore_suffix": (".x",)}),
        ("/health/live", SW8, {"trace_ignore_path": ("/health/*",)}),
        ("/health/a/b", SW8, {"trace_ignore_path": ("/nothing", "/health/**")}),
        ("/", b"0" + SW8[1:], {}),
    ],
)
async def test_neither_ignored_operations_nor_what_upstream_does_not_sample_is_recorded(
    path: str, sw8: bytes, settings_: dict[str, Any]
) -> None:
    passed_on: list[dict[str, str]] = []

    def ask() -> None:
        with local_span("inside"), exit_span("GET:/stock", peer="stock:80") as span:
            passed_on.append(span.headers())

    async with traced(doing(ask), **settings_) as shop:
        assert len(await call(shop.app, http_scope(path, [(b"sw8", sw8)]))) == 2
        assert await shop.segments() == []
    assert passed_on == [{}]


@pytest.mark.usefixtures("one_window")
async def test_sampling_takes_the_first_of_each_window() -> None:
    async with traced(answers(), sample_n_per_3_secs=2) as shop:
        for _ in range(10):
            assert len(await call(shop.app, http_scope())) == 2
        assert len(await shop.segments()) == 2
