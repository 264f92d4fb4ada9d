import sys

from aiohttp import web
from multidict import CIMultiDict
from typing_extensions import TypedDict

from shop import look_up


class Item(TypedDict):
    name: str


async def item(request):
    found: Item = {"name": look_up(request.match_info["id"])}
    return web.Response(text=found["name"], headers=CIMultiDict({"X-Shop": "1"}))


if __name__ == "__main__":
    app = web.Application()
    app.router.add_get("/items/{id}", item)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]))
