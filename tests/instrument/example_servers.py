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
def _of_peer(peer: AbstractContextManager[Any]) -> Iterator[int]:
    with peer as running:
        yield running.server_address[1]


def _model() -> AbstractContextManager[Any]:
    return http_peer(import_module("instrument.test_llm").Provider().answer)


def _search() -> AbstractContextManager[Any]:
    return http_peer(import_module("instrument.test_search").answer)


_PEERS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "anthropic": _model,
    "elasticsearch": _search,
    "neo4j": lambda: import_module("instrument.bolt_peer").bolt_peer(),
    "openai": _model,
    "opensearch": _search,
    "pymongo": lambda: import_module("instrument.mongo_peer").mongo_peer(),
}
_SERVERS: dict[str, Callable[[], AbstractContextManager[int]]] = {
    "grpc": _grpc,
    "grpclib": _grpc,
    "happybase": lambda: import_module("instrument.test_happybase").hbase(),
    "websockets": _websockets,
}
"""By library. The others speak plain HTTP."""


def serving(library: str) -> AbstractContextManager[int]:
    """A server for the example of a library; yields its port on 127.0.0.1."""
    if library in _SERVERS:
        return _SERVERS[library]()
    return _of_peer(_PEERS.get(library, HttpServer)())
