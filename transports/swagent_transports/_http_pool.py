"""Kept-alive connections to one collector (httpx, without its client).

httpx's client would keep a collector's cookies, log a line about each request into the application's log, and
decompress what the collector sends. Its transport layer does none of it.
"""

from __future__ import annotations

import socket
import ssl
from typing import Any

import httpx
from anyio import CancelScope

from ._http_dialling import Dialler
from ._http_exchange import Exchange
from ._http_reading import Frugal
from ._quiet import Hush, own_traffic

HUSH = Hush("httpcore.connection", "httpcore.http11", "httpcore.proxy", "httpcore.http2", "httpcore.socks")

# Shorter than what OAP (30 s) and proxies allow, so that it is our side that hangs up. Otherwise the server's FIN and
# our request could cross on the way, and the fate of the batch would be unknown.
_KEEP_ALIVE = 5.0
# As many connections as there are calls at the same time. The caller bounds that.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEP_ALIVE)
# Bytes that a reply may fill unread. With the system's default, uvloop reads 8 MiB at once from a fast collector.
_RECEIVE_BUFFER = (socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
# Without TLS httpx wants a context all the same: one that trusts no certificate. Not one for each pool, made while we
# report: OpenSSL takes locks for it that it does not renew after a fork, and a child forked meanwhile would hang at its
# end.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Pool:
    """Connections that are opened on demand, used again, and closed together when the pool is retired.

    A call that did not end well retires its pool. There is no reason to trust the other connections of a collector that
    has just failed. And if httpcore is cancelled at certain moments, it keeps a connection for ever without using it.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._http = httpx.AsyncHTTPTransport(
            verify=context or _NO_TLS, trust_env=False, limits=_LIMITS, socket_options=[_RECEIVE_BUFFER]
        )
        # httpx does not pass one on
        inner: Any = self._http._pool  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        inner._network_backend = Frugal(Dialler(inner._network_backend))  # noqa: SLF001
        self._users = 0
        self.is_retired = False
        self._is_closed = False
        HUSH.begin()

    async def run(self, exchange: Exchange) -> None:
        """Do the exchange over one of the connections; cancelled or failing, it retires the pool.

        :raises Exception: whatever httpx and the layers below it raise
        """
        self._users += 1
        try:
            with own_traffic():
                await exchange.run(self._http)
        except BaseException:
            self.is_retired = True
            raise
        finally:
            self._users -= 1
            await self._close_when_done()

    async def retire(self) -> None:
        """Close the connections, now or at the end of the exchange that uses the pool last."""
        self.is_retired = True
        await self._close_when_done()

    async def _close_when_done(self) -> None:
        if self.is_retired and not self._users and not self._is_closed:
            self._is_closed = True
            with CancelScope(shield=True), own_traffic():
                try:
                    await self._http.aclose()
                finally:
                    HUSH.end()
