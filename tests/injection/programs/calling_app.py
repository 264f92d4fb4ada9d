"""Starlette, which calls itself by httpx in a task of anyio's."""

import anyio
import httpx
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shop import look_up


async def item(request):
    answers = []

    async def call():
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://127.0.0.1:{request.url.port}/stock/{request.path_params['id']}")
            answers.append(answer.text)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
    return PlainTextResponse(answers[0])


async def stock(request):
    return PlainTextResponse(look_up(request.path_params["id"]))


app = Starlette(routes=[Route("/items/{id}", item), Route("/stock/{id}", stock)])
