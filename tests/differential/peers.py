"""The servers that programs talk to: each is started when the first world asks for it, and ends with the run.

What a peer says to a program is in variables of its namespace. `ns#` in one of them is `ns0` on the bare side and `ns1`
on the other, so that they do not meet in a server that both share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

from typing_extensions import Self

from differential.observation import ADDED
from instrument.http_peer import Answer, Request, http_peer
from instrument.llm_peer import Provider
from kit.servers import collector_thread, dead_address
from swagent.collector.store.trace_records import Segment


class Peers:
    """All of them, and what the agents report: how many spans came, by the agent's instance."""

    def __init__(self) -> None:
        self.spans: Counter[str] = Counter()
        self._stack = ExitStack()
        self._started: dict[str, Mapping[str, str]] = {}

    def __enter__(self) -> Self:
        collector, _ = self._stack.enter_context(collector_thread())

        def note(record: object) -> None:
            if isinstance(record, Segment):
                own = sum(not each.operation.startswith("program ") for each in record.spans)
                self.spans[record.instance] += own

        collector.store.subscribe(note)
        nowhere = self._stack.enter_context(dead_address())
        self._common = {"COLLECTOR": collector.address, "NOWHERE": nowhere}
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def variables(self, *names: str) -> dict[str, str]:
        """The variables of these that a program needs.

        :raises UnavailableError: one of them is not on this machine
        """
        for name in names:
            if name not in self._started:
                self._started[name] = self._stack.enter_context(PEERS[name]())
        return {key: value for name in names for key, value in self._started[name].items()} | self._common


@contextmanager
def _answering(answer: Callable[[Request], Answer]) -> Iterator[Mapping[str, str]]:
    with http_peer(answer) as peer:
        yield {"URL": peer.url, "HOST": peer.address}


_VARYING = ("host", "connection", "accept-encoding", "user-agent", "accept")


def _echo(request: Request) -> Answer:
    """By the path, always in the same way: what it was sent, and nothing of what the agent has added."""
    path = request.path.partition("?")[0]
    if path == "/broken":
        raise ConnectionResetError
    if path == "/stream":
        return Answer(200, iter([b"one", b"two"]))
    if path in ("/moved", "/again"):
        return Answer(302, b"", (("location", "/echo?moved=1" if path == "/moved" else path),))
    if path == "/text":
        return Answer(
            200, b"caf\xe9\r\nline\n", (("content-type", "text/plain; charset=latin-1"), ("set-cookie", "a=1"))
        )
    headers = {name: value for name, value in request.headers.items() if name not in (*ADDED, *_VARYING)}
    said = {"method": request.method, "path": request.path, "headers": headers, "body": request.body.decode("latin-1")}
    status = int(path[8:11]) if path.startswith("/status/") else 200
    return Answer(status, said, (("content-type", "application/json"), ("x-peer", "web")))


def _search(request: Request) -> Answer:
    """As a search engine with an index of one document."""
    sent, hits = request.body.decode("latin-1"), {"hits": [{"_id": "17"}]}
    status, said = 200, {"_id": "17", "found": True, "hits": hits, "sent": sent}
    if request.path.startswith("/missing"):
        status, said = 404, {"error": "index_not_found_exception", "status": 404}
    elif request.path.startswith("/busy"):
        status, said = 503, {"error": "unavailable", "status": 503}
    return Answer(status, said, (("content-type", "application/json"), ("x-elastic-product", "Elasticsearch")))


@contextmanager
def _redis() -> Iterator[Mapping[str, str]]:
    """One for each side: they would see each other's keys."""
    from kit.real.redis import Redis

    with Redis() as bare, Redis() as other:
        yield {"PORT@ns0": str(bare.port), "PORT@ns1": str(other.port)}


@contextmanager
def _postgres() -> Iterator[Mapping[str, str]]:
    import psycopg

    from kit.real.databases import Postgres

    with Postgres() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            for side in ("ns0", "ns1"):
                connection.execute(f"CREATE DATABASE {side}")
        address = server.address
        yield {"ADDRESS": address, "PORT": str(server.port), "URL": f"postgresql://shop@{address}/ns#", "DB": "ns#"}


@contextmanager
def _mariadb() -> Iterator[Mapping[str, str]]:
    import pymysql

    from kit.real.databases import Mariadb

    with Mariadb() as server:
        connection: Any = pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True)
        for side in ("ns0", "ns1"):
            connection.cursor().execute(f"CREATE DATABASE {side}")
        connection.close()
        yield {"PORT": str(server.port), "DB": "ns#"}


@contextmanager
def _rabbitmq() -> Iterator[Mapping[str, str]]:
    from kit.real.rabbitmq import RabbitMQ

    with RabbitMQ() as server:
        yield {"URL": server.url}


@contextmanager
def _mongo() -> Iterator[Mapping[str, str]]:
    from instrument.mongo_peer import mongo_peer

    with mongo_peer() as peer:
        yield {"PORT": str(peer.port)}


@contextmanager
def _kafka() -> Iterator[Mapping[str, str]]:
    from kit.kafka_broker import KafkaBroker

    with KafkaBroker() as broker:
        yield {"ADDRESS": broker.address}


PEERS: dict[str, Callable[[], AbstractContextManager[Mapping[str, str]]]] = {
    "http": partial(_answering, _echo), "search": partial(_answering, _search),
    "provider": partial(_answering, Provider().answer), "redis": _redis, "postgres": _postgres,
    "mariadb": _mariadb, "rabbitmq": _rabbitmq, "mongo": _mongo, "kafka": _kafka,
}  # fmt: skip
