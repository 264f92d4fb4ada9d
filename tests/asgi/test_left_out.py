"""Requests that are not recorded: ignored operations, traces beyond the sampling rate, and what upstream does not
sample."""

from __future__ import annotations

from typing import Any

import pytest

from asgi.calling import SW8, call, doing, http_scope, traced
from swagent import exit_span, local_span

pytestmark = pytest.mark.anyio


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
async def test_ignored_or_not_sampled_upstream(path: str, sw8: bytes, settings_: dict[str, Any]) -> None:
    passed_on: list[dict[str, str]] = []

    def ask() -> None:
        with local_span("inside"), exit_span("GET:/stock", peer="stock:80") as span:
            passed_on.append(span.headers())

    async with traced(doing(ask), **settings_) as shop:
        assert len(await call(shop.app, http_scope(path, [(b"sw8", sw8)]))) == 2
        assert await shop.segments() == []
    assert passed_on == [{}]
