"""A scope against the specification costs no request, and no call of the application's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import swagent
from asgi.calling import body, call, doing, http_scope, start, traced

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
    async with traced(doing(lambda: [each() for each in CALLS])) as served:
        assert await call(served.app, {**http_scope(), field: value}) == [start(), body(b"ok")]
