"""Small programs for the official agent, which run unchanged under this one: one a library.

Each serves at the port of its first argument, or calls a peer there that answers.
"""

from __future__ import annotations

BEGIN = """
import http.client, socket, socketserver, sys, threading
from http import HTTPStatus
from skywalking import agent
from skywalking.trace.context import get_context
agent.start()
PORT = int(sys.argv[1])

def get(*paths, method="GET"):
    "Answers of the server, by a client that no agent records."
    for path in paths:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        print(answer.status)
        connection.close()

class Plain(socketserver.ThreadingTCPServer):
    "A server that no agent records, for one answer a connection."
    allow_reuse_address = daemon_threads = True

class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        words = self.rfile.readline().split()
        length = 0
        while (line := self.rfile.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        self.rfile.read(length)
        status = 404 if b"missing" in words[1] else 200
        self.wfile.write(b"HTTP/1.1 %d X\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok" % status)

def peer(handler=Answer):
    server = Plain(("127.0.0.1", PORT), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

def work(*calls):
    "A piece of work, as a request is, that a call belongs to."
    with get_context().new_entry_span(op="/work"):
        for call in calls:
            call()
"""
END = """
agent.agent.stop()
import os
os._exit(0)
"""
# the official agent's threads may end the interpreter with a fatal error
# its end waits for the threads of requests, whose spans end after their answers
_WSGI = """
from werkzeug.serving import make_server
server = make_server("127.0.0.1", PORT, app, threaded=True)
server.daemon_threads = False
threading.Thread(target=server.serve_forever, daemon=True).start()
"""
_UVICORN = """
import asyncio, uvicorn
server = uvicorn.Server(uvicorn.Config(app, port=PORT, log_level="critical"))
thread = threading.Thread(target=server.run)
thread.start()
import time
while not server.started:
    time.sleep(0.01)
"""

PROGRAMS: dict[str, str] = {}
"""By the name of what each of them uses."""

PROGRAMS["flask"] = (
    """
from flask import Flask
app = Flask(__name__)
app.add_url_rule("/orders/<item>", view_func=lambda item: item, endpoint="orders")
app.add_url_rule("/broken", view_func=lambda: 1 / 0, endpoint="broken")
app.logger.disabled = True
"""
    + _WSGI
    + 'get("/orders/lamp?colour=red", "/missing", "/broken")\nserver.shutdown()\nserver.server_close()'
)
PROGRAMS["fastapi"] = (
    """
from fastapi import FastAPI
app = FastAPI()
@app.get("/orders/{item}")
async def orders(item: str):
    return item
"""
    + _UVICORN
    + 'get("/orders/lamp?colour=red", "/missing")\nserver.should_exit = True; thread.join()'
)
PROGRAMS["django"] = (
    """
import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x", DEBUG=False, LOGGING_CONFIG=None)
urlpatterns = [path("orders/<str:item>", lambda request, item: HttpResponse(item))]
app = get_wsgi_application()
"""
    + _WSGI
    + 'get("/orders/lamp?colour=red", "/missing")\nserver.shutdown()\nserver.server_close()'
)
PROGRAMS["falcon"] = (
    """
import falcon
class Orders:
    def on_get(self, request, response, item):
        response.text = item
app = falcon.App()
app.add_route("/orders/{item}", Orders())
"""
    + _WSGI
    + 'get("/orders/lamp", "/missing")\nserver.shutdown()\nserver.server_close()'
)
PROGRAMS["bottle"] = (
    """
import bottle
app = bottle.Bottle()
app.route("/orders/<item>", callback=lambda item: item)
"""
    + _WSGI
    + 'get("/orders/lamp", "/missing")\nserver.shutdown()\nserver.server_close()'
)
PROGRAMS["http.server"] = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args):
        pass
server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
server.daemon_threads = False
threading.Thread(target=server.serve_forever, daemon=True).start()
get("/orders/lamp?colour=red", "/missing")
server.shutdown()
server.server_close()
"""
PROGRAMS["tornado"] = """
import asyncio
import tornado.web
class Orders(tornado.web.RequestHandler):
    async def get(self, item):
        self.write(item)
async def main():
    app = tornado.web.Application([("/orders/(.*)", Orders)], log_function=lambda handler: None)
    server = app.listen(PORT, "127.0.0.1")
    await asyncio.to_thread(get, "/orders/lamp?colour=red", "/missing")
    server.stop()
asyncio.run(main())
"""
PROGRAMS["aiohttp"] = """
import asyncio, aiohttp
peer()
async def main():
    with get_context().new_entry_span(op="/work"):
        async with aiohttp.ClientSession() as session:
            for path in ("/orders/17", "/missing"):
                async with session.get(f"http://127.0.0.1:{PORT}{path}") as response:
                    await response.read()
asyncio.run(main())
"""
PROGRAMS["requests"] = """
import requests
peer()
work(lambda: requests.get(f"http://127.0.0.1:{PORT}/orders/17"), lambda: requests.post(f"http://127.0.0.1:{PORT}/missing"))
"""
PROGRAMS["httpx"] = """
import httpx
peer()
work(lambda: httpx.get(f"http://127.0.0.1:{PORT}/orders/17"), lambda: httpx.post(f"http://127.0.0.1:{PORT}/missing"))
"""
PROGRAMS["urllib.request"] = """
import urllib.request
peer()
work(lambda: urllib.request.urlopen(f"http://127.0.0.1:{PORT}/orders/17").read())
"""
PROGRAMS["redis"] = """
import redis
class Redis(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            words = []
            for _ in range(int(line[1:])):
                length = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(length + 2)[:-2])
            self.wfile.write(b"$4\\r\\nlamp\\r\\n" if words[0] == b"GET" else b"+OK\\r\\n")
peer(Redis)
client = redis.Redis(host="127.0.0.1", port=PORT)
work(lambda: client.set("item", "lamp"), lambda: client.get("item"))
"""
PROGRAMS["by hand"] = """
from skywalking import Component, Layer
from skywalking.decorators import runnable, trace
from skywalking.trace.carrier import Carrier
from skywalking.trace.tags import Tag, TagHttpMethod
class TagItem(Tag):
    key = "item"
@trace(op="price", layer=Layer.Cache, component=Component.Redis, tags=[TagItem("lamp")])
def price():
    pass
with get_context().new_entry_span(op="/orders") as span:
    span.component, span.layer = Component.Flask, Layer.Http
    span.tag(TagHttpMethod("GET")).tag(TagItem(1)).tag(TagItem(2))
    get_context().put_correlation("shop", "north")
    with get_context().new_exit_span(op="/stock", peer="stock:80", component=Component.Requests) as call:
        call.layer = Layer.Http
        sent = call.inject()
    @runnable(op="/thread")
    def in_thread():
        price()
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    try:
        with get_context().new_local_span(op="wrong"):
            raise ValueError("wrong")
    except ValueError:
        pass
received = Carrier()
for ours, theirs in zip(received, sent):
    ours.val = theirs.val
with get_context().new_entry_span(op="/stock", carrier=received) as span:
    assert get_context().get_correlation("shop") == "north"
with get_context().new_entry_span(op="/image.png"):
    pass
"""
