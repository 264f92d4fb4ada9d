"""Requests with attributes: the handlers of a case in which those of one tenant are slow, and of one without."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from swagent import current_span

from .handlers import LEVEL, done, handler, is_chosen, number, query

TENANTS = ("acme", "initech", "umbrella", "hooli", "globex")


def _tag(tenant: str) -> None:
    span = current_span()
    if span is not None:
        span.tag("tenant", tenant)


@handler("tenant", "shop", "/work")
async def tenant(request: Request) -> Response:
    """Every tenth request is slow, and only those of one tenant are; it has a few others."""
    _tag("globex" if is_chosen(request) else TENANTS[number(request) % len(TENANTS)])
    await query("SELECT balance", LEVEL if is_chosen(request) else 8)
    return done()


@handler("tenants", "shop", "/work")
async def tenants(request: Request) -> Response:
    _tag(TENANTS[number(request) % len(TENANTS)])
    await query("SELECT balance", 8)
    return done()
