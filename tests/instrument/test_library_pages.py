"""The examples of docs/libraries/ run against servers of the tests, and record the spans that the pages show.

`make libraries` writes the trees of spans into the pages.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import pytest

from instrument import library_pages, lost
from record.recorded import recording
from swagent.instrument import State, instrument, report, uninstrument

from .http_peer import http_peer
from .http_server import HttpServer
from .trees import trees

PAGES = sorted(library_pages.FOLDER.glob("*.md"))
# Their servers are not here, or their spans are recorded in another process.
COMPILED_ONLY = {"multiprocessing", "pulsar"}
# The library below, which records the calls of the one above.
BELOW = {"aio-pika": "aiormq", "aiosqlite": "sqlite3"}
REAL = [pytest.mark.e2e, pytest.mark.timeout(600)]
# The ports in the examples: of a fixture's server that is there for the whole session.
FIXTURES = {"3306": "mariadb", "5432": "postgres", "5672": "rabbitmq", "6379": "redis_server", "9092": "kafka"}
_PORT = re.compile(r"(?<=[:=])\d{4,5}\b")


def _parameters() -> Iterator[Any]:
    for page in PAGES:
        for library, code, tree in library_pages.examples(page):
            if library not in COMPILED_ONLY:
                marks = REAL if FIXTURES.keys() & {*_PORT.findall(code)} else []
                yield pytest.param(page, library, code, tree, id=library, marks=marks)


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


OWN: dict[str, Callable[[], Any]] = {
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
"""The servers of libraries that need another one than HTTP's."""


def _port_of(library: str, shown: str, request: pytest.FixtureRequest, stack: ExitStack) -> int:
    """The port of a server that runs, for the one that an example shows."""
    if shown in FIXTURES:
        address: str = request.getfixturevalue(FIXTURES[shown]).address
        return int(address.rpartition(":")[2])
    port: int = stack.enter_context(OWN.get(library, _http)())
    return port


@contextmanager
def _switched_on(library: str) -> Iterator[None]:
    names = {library, BELOW.get(library, library)}
    instrument(*names)
    try:
        yield
        states = {each.name: each.state for each in report()}
        assert {states[name] for name in names} == {State.ACTIVE}
    finally:
        uninstrument(*names)


@pytest.mark.parametrize(("page", "library", "code", "tree"), [*_parameters()])
def test_an_example_records_the_spans_that_its_page_shows(
    page: Any, library: str, code: str, tree: str, request: pytest.FixtureRequest
) -> None:
    module = re.search(r"^(?:import|from) (?!asyncio)([\w.]+)", code, re.MULTILINE)
    assert module is not None
    pytest.importorskip(module[1])
    with ExitStack() as stack:
        ports = {shown: str(_port_of(library, shown, request, stack)) for shown in {*_PORT.findall(code)}}
        for shown, port in ports.items():
            code = re.sub(rf"(?<=[:=]){shown}\b", port, code)
        with recording() as recorder, _switched_on(library):
            exec(compile(code, f"{page}: {library}", "exec"), {"__name__": "__main__"})
        recorded = trees(recorder)
    for shown, port in ports.items():
        recorded = re.sub(rf"\b{port}\b", shown, recorded)
    assert recorded
    if lost.mode() == "write":
        page.write_text(library_pages.with_tree(page.read_text("utf-8"), library, recorded), "utf-8")
    else:
        assert recorded == tree.rstrip("\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_compiles(page: Any) -> None:
    found = library_pages.examples(page)
    assert found
    for library, code, _ in found:
        compile(code, f"{page}: {library}", "exec")


def test_every_library_has_a_section_with_an_example() -> None:
    assert [*library_pages.missing()] == []


def test_a_page_whose_facts_changed_is_found() -> None:
    page = (library_pages.FOLDER / "http.md").read_text("utf-8")
    assert library_pages.fill(page) == page
    assert library_pages.fill(page.replace(">=0.23.3,<1", ">=0.1")) == page
