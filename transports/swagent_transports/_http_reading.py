"""Reading from a collector in small pieces, and not without end, for httpcore.

httpcore works on a whole piece before the loop's other tasks get their turn, and it skips any number of interim answers
(1xx).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

if TYPE_CHECKING:
    from ssl import SSLContext

# A few milliseconds of work, if a collector fills it with the smallest answers possible.
_PIECE = 2048
# Interim answers, and the head of the one that counts.
MOST_HEAD = 64 * 1024


class Frugal(httpcore.AsyncNetworkBackend):
    """Makes connections whose answers are bounded."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend) -> None:
        """:param backend: makes the connections"""
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect.

        :raises Exception: what the backend raises
        """
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return FrugalStream(stream)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._backend.sleep(seconds)


class FrugalStream(httpcore.AsyncNetworkStream):
    """A connection that reads the head of an answer, and more when it is allowed to."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left = MOST_HEAD
        self._has_ended = False

    def is_to_blame(self, error: Exception) -> bool:
        """Whether an answer cannot be read because of what it says, and not because it breaks off: it has no end, or
        breaks the protocol."""
        return self._left <= 0 or (isinstance(error, httpx.RemoteProtocolError) and not self._has_ended)

    def allow(self, size: int) -> None:
        """Allow so many more bytes before the next write."""
        self._left += size

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """
        :raises httpcore.ReadError: when all that is allowed has come
        """
        if self._left <= 0:
            raise httpcore.ReadError("the answer is too large")
        data = await self._stream.read(min(max_bytes, _PIECE), timeout)
        self._left -= len(data)
        self._has_ended = not data
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._left = MOST_HEAD
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return FrugalStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
