"""From a host's name to a connection, for httpcore."""

from __future__ import annotations

from collections.abc import Iterable

import httpcore

from ._resolver import LONGEST_WAIT, resolve


class Dialler(httpcore.AsyncNetworkBackend):
    """Dials the addresses of a host one after the other. Left to itself, the loop would look the name up in a thread
    that it waits for."""

    def __init__(self, sockets: httpcore.AsyncNetworkBackend) -> None:
        """:param sockets: dials an address"""
        self._sockets = sockets

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect.

        :raises OSError: when the name cannot be resolved
        :raises httpcore.ConnectError: when no address lets us in: why the last one did not
        """
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        left = await resolve(host, port)
        while left:
            address = left.pop(0)
            longest = LONGEST_WAIT if left else timeout
            try:
                return await self._sockets.connect_tcp(address, port, longest, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._sockets.sleep(seconds)
