"""The servers of this process that the examples of docs/libraries/ call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

import pytest

from .http_peer import http_peer
from .http_server import HttpServer


@contextmanager
def _websockets() -> Iterator[int]:
    def echo(connection: Any) -> None:
        for message in connection:
            connection.send(message)

    with import_module("websockets.sync.server").serve(echo, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.socket.getsockname()[1]
        server.shutdown()
        thread.join()


@contextmanager
def _http() -> Iterator[int]:
    with HttpServer() as server:
        yield server.server_port


@contextmanager
def _models() -> Iterator[int]:
    with http_peer(import_module("instrument.test_llm").Provider().answer) as peer:
        yield peer.server_address[1]


@contextmanager
def _search() -> Iterator[int]:
    with http_peer(import_module("instrument.test_search").answer) as peer:
        yield peer.server_address[1]


@contextmanager
def _grpc() -> Iterator[int]:
    grpc: Any = pytest.importorskip("grpc")
    methods = {"Look": grpc.unary_unary_rpc_method_handler(lambda request, _: request)}
    handler = grpc.method_handlers_generic_handler("stock.Stock", methods)
    with ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool, [handler])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield port
        server.stop(0).wait(10)


@contextmanager
def _hbase() -> Iterator[int]:
    with import_module("instrument.test_happybase").hbase() as port:
        yield port


@contextmanager
def _mongo() -> Iterator[int]:
    with import_module("instrument.mongo_peer").mongo_peer() as peer:
        yield peer.port


@contextmanager
def _bolt() -> Iterator[int]:
    with import_module("instrument.bolt_peer").bolt_peer() as peer:
        yield peer.server_address[1]


_SERVERS: dict[str, Callable[[], AbstractContextManager[int]]] = {
    "anthropic": _models,
    "elasticsearch": _search,
    "grpc": _grpc,
    "grpclib": _grpc,
    "happybase": _hbase,
    "neo4j": _bolt,
    "openai": _models,
    "opensearch": _search,
    "pymongo": _mongo,
    "websockets": _websockets,
}
"""By library. The others speak plain HTTP."""


def serving(library: str) -> AbstractContextManager[int]:
    """A server for the example of a library; yields its port on 127.0.0.1."""
    return _SERVERS.get(library, _http)()
