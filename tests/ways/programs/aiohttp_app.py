import sys

from aiohttp import web

from shop import look_up


async def item(request):
    return web.Response(text=look_up(request.match_info["id"]))


def make(argv):
    app = web.Application()
    app.router.add_get("/items/{id}", item)
    return app


if __name__ == "__main__":
    web.run_app(make([]), host="127.0.0.1", port=int(sys.argv[1]))
