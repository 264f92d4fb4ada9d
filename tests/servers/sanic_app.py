"""A Sanic application, which Sanic's own command serves."""

from __future__ import annotations

import os

from sanic import Request, Sanic
from sanic.exceptions import SanicException
from sanic.response import HTTPResponse, text

app = Sanic("shop")


class Missing(Exception):
    """Answered with 404."""


@app.exception(Missing)
async def answer(request: Request, error: Missing) -> HTTPResponse:
    return text("no such item", 404)


@app.get("/items/<id:str>")
async def item(request: Request, id: str) -> HTTPResponse:  # noqa: A002
    if id == "broken":
        raise LookupError("nothing there")
    if id == "handled":
        raise Missing
    if id == "gone":
        raise SanicException("gone", status_code=410)
    return text(str(os.getpid()))
