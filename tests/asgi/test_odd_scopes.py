"""A scope against the specification costs no request, and no call of the application's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import swagent
from asgi.calling import body, call, http_scope, start, traced
from swagent.asgi.lifespan import Receive, Scope, Send

pytestmark = pytest.mark.anyio
CALLS: list[Callable[[], object]] = [
    swagent.capture,
    swagent.current_span,
    swagent.current_trace_id,
    lambda: swagent.put_correlation("a", "b"),
    lambda: swagent.exit_span("call", "db:1").start().headers(),
]


@pytest.mark.parametrize("value", [None, 7, b"bytes", ["list"], ("a", "b", "c")])
@pytest.mark.parametrize("field", ["path", "method", "scheme", "headers", "client", "server"])
async def test_no_call_raises(field: str, value: Any) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for each in CALLS:
            each()
        await send(start())
        await send(body())

    async with traced(app) as served:
        assert await call(served.app, {**http_scope(), field: value}) == [start(), body()]


async def test_the_stack_of_an_error_begins_in_the_application() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("below")

    async with traced(app) as served:
        with pytest.raises(ValueError, match="below"):
            await call(served.app, http_scope())
        span = await served.span()
    [log] = span.logs
    [place] = dict(log.data)["stack"].split("\n")
    assert place.endswith("in app")
