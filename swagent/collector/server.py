"""`Collector`: the gRPC intake and a store, on one port."""

from __future__ import annotations

from types import TracebackType

from typing_extensions import Self

from .admission import guard
from .codec import RawCodec
from .connections import Connections, TrackingServer
from .grpc_intake import SERVICES, GrpcService
from .store import Store


class Collector:
    """A collector that agents can report to over gRPC. asyncio (uvloop too) only, since grpclib is; on trio run it
    in a thread with `asyncio.run`. Its `store` may be read and waited on from any thread and loop.

    ::

        async with Collector() as collector:
            config = Config(service="shop", collector=collector.address)
            ...
            await collector.store.wait_for(lambda store: len(store.segments) == 3)

    It can be started again after it was stopped: on the same port, with the same store.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, token: str = "", store: Store | None = None) -> None:
        """Prepare a collector; nothing is bound before it is started.

        :param host: the name or address to listen on
        :param port: 0 takes a free one, which later starts of this collector take again
        :param token: what agents must send as `authentication`; empty: no check
        :param store: where records go; by default a new `Store`
        """
        self.store = Store() if store is None else store
        self._host = host
        self._port = port
        self._token = token
        self._server: TrackingServer | None = None

    @property
    def address(self) -> str:
        """`host:port`, as an agent's configuration takes it; with port 0 the port is known once started."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{host}:{self._port}"

    @property
    def is_running(self) -> bool:
        return self._server is not None

    async def start(self) -> None:
        """Listen; waits only for the host's name to be looked up. Cancel the whole program rather than this.

        :raises OSError: when the address cannot be bound
        :raises RuntimeError: when it runs already
        """
        if self._server is not None:
            raise RuntimeError(f"{self!r} runs already")
        server = TrackingServer([GrpcService(name, self.store) for name in SERVICES], codec=RawCodec())
        server.connections = Connections()
        guard(server, self._token)
        await server.start(self._host, self._port)
        self._server = server
        self._port = server.port

    async def stop(self) -> None:
        """Close the port, the calls under way and the connections; takes at most a second. Twice is harmless.
        Cancelled, it still runs to its end."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop()

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
