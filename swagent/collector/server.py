"""`Collector`: a store, and the servers that fill and show it, in one event loop."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from .api.app import page_app
from .api.changes import Changes
from .http_server import HttpServer
from .intake.admission import guard
from .intake.codec import RawCodec
from .intake.connections import Connections, TrackingServer, answer_all
from .intake.grpc import SERVICES, GrpcService
from .intake.http import intake_app
from .intake.otlp.grpc import OtlpService
from .intake.otlp.taking import OtlpIntake
from .intake.otlp.wire import KINDS
from .intake.room import Room
from .store.database import StoreError
from .store.store import Store

if TYPE_CHECKING:
    from .intake.kafka import KafkaIntake

_LOG = logging.getLogger("swagent.collector")
# Seconds between two looks at the age of what is kept.
_EXPIRY = 10.0


class Collector:
    """A collector that agents can report to over gRPC, and on demand over HTTP and Kafka. asyncio (uvloop
    too) only, since grpclib is; elsewhere run it in a thread, as `swagent.testing.collector` does. Its `store` may be
    read and waited on from any thread and loop.

    ::

        async with Collector() as collector:
            config = Config(service="shop", collector=collector.address)
            ...
            await collector.store.wait_for(lambda store: len(store.segments) == 3)

    It can be started again after it was stopped: on the same ports, with the same store.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str = "",
        store: Store | None = None,
        *,
        http_port: int | None = None,
        page_port: int | None = None,
        kafka: str = "",
        kafka_namespace: str = "",
    ) -> None:
        """Prepare a collector; nothing is bound before it is started.

        :param host: the name or address to listen on
        :param port: of gRPC; 0 takes a free one, which later starts of this collector take again
        :param token: agents must send it as `authentication` over gRPC; empty: no check
        :param store: where records go; by default a new `Store`
        :param http_port: of the HTTP intake, as `port`; None: there is none
        :param page_port: of the page and its API, as `port`; None: there is none
        :param kafka: brokers to read from, as `host:port`, several with commas; empty: none
        :param kafka_namespace: the prefix of the names of the topics, without its hyphen
        :raises ImportError: when there are brokers to read from and the extra `kafka` is not installed
        """
        self.store = Store() if store is None else store
        self._host = host
        self._port = port
        self._token = token
        self._server: TrackingServer | None = None
        self._changes = Changes(self.store)
        self._http = None if http_port is None else HttpServer(partial(intake_app, self.store, host), host, http_port)
        page = partial(page_app, self.store, self._changes, self._addresses, host)
        self._page = None if page_port is None else HttpServer(page, host, page_port)
        self._kafka = _kafka_intake(self.store, kafka, kafka_namespace) if kafka else None
        self._expiry: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """`host:port` of gRPC, as an agent's configuration takes it; with port 0 the port is known once started."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{host}:{self._port}"

    @property
    def http_address(self) -> str:
        """`host:port` of the HTTP intake; empty where there is none."""
        return self._http.address if self._http else ""

    @property
    def page_address(self) -> str:
        """`host:port` of the page; empty where there is none."""
        return self._page.address if self._page else ""

    @property
    def is_running(self) -> bool:
        return self._server is not None

    def _addresses(self) -> dict[str, Any]:
        kafka = self._kafka.brokers if self._kafka else None
        return {"grpc": self.address, "http": self.http_address or None, "kafka": kafka}

    async def start(self) -> None:
        """Listen; waits only for the host's name to be looked up, and for Kafka's brokers to answer. Cancel the whole
        program rather than this.

        :raises OSError: when an address cannot be bound, or no broker answers
        :raises RuntimeError: when it runs already
        """
        if self._server is not None:
            raise RuntimeError(f"{self!r} runs already")
        room = Room()
        otlp = OtlpIntake(self.store)
        services = [GrpcService(name, self.store, room) for name in SERVICES]
        server = TrackingServer([*services, *(OtlpService(name, otlp, room) for name in KINDS)], codec=RawCodec())
        server.connections = Connections()
        answer_all(server, room)
        guard(server, self._token)
        await server.start(self._host, self._port)
        self._server = server
        self._port = server.port
        self._changes.open()
        try:
            for each in (self._http, self._page, self._kafka):
                if each is not None:
                    await each.start()
        except BaseException:  # an address that is in use, a broker that is away, a cancellation
            await self.stop()
            raise
        if self.store.limits.max_age is not None:
            self._expiry = asyncio.create_task(self._expire(self.store.limits.max_age))

    async def stop(self) -> None:
        """Close the ports, the calls under way and the connections; takes a few seconds at most, and one where only
        gRPC is served. The store stays open. Twice is harmless. Cancelled, it still closes gRPC."""
        server, self._server = self._server, None
        expiry, self._expiry = self._expiry, None
        if expiry is not None:
            expiry.cancel()
        self._changes.end()
        try:
            others = [each.stop() for each in (self._http, self._page, self._kafka) if each is not None]
            await asyncio.gather(*others)
        finally:
            if server is not None:
                await server.stop()

    async def _expire(self, age: float) -> None:
        is_behind = False
        while True:
            await asyncio.sleep(0 if is_behind else min(_EXPIRY, age / 10))  # ages have no event of their own
            try:
                is_behind = self.store.expire()
            except StoreError as error:
                is_behind = False
                _LOG.warning("%s", error)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def __repr__(self) -> str:
        state = "running" if self.is_running else "stopped"
        return f"<Collector {self.address} {state}, {self.store.statistics()}>"


def _kafka_intake(store: Store, brokers: str, namespace: str) -> KafkaIntake:
    from .intake.kafka import KafkaIntake  # noqa: PLC0415, RUF100  (its needs are an extra)

    return KafkaIntake(store, brokers, namespace)
