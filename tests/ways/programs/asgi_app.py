"""Starlette, which knows nothing of the agent."""

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shop import look_up


async def item(request):
    return PlainTextResponse(look_up(request.path_params["id"]))


app = Starlette(routes=[Route("/items/{id}", item)])
