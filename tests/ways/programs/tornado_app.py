"""Tornado with forked processes."""

import asyncio
import sys

from tornado import web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.process import fork_processes

from shop import look_up


class Item(web.RequestHandler):
    def get(self, id):
        self.write(look_up(id))


async def serve(sockets):
    HTTPServer(web.Application([(r"/items/(?P<id>\d+)", Item)])).add_sockets(sockets)
    await asyncio.Event().wait()


sockets = bind_sockets(int(sys.argv[1]), "127.0.0.1")
if int(sys.argv[2]):
    fork_processes(int(sys.argv[2]))
asyncio.run(serve(sockets))
