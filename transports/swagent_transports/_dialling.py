"""From a host's name to a connection, for the clients that need asyncio."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ._resolver import LONGEST_WAIT, resolve

if TYPE_CHECKING:
    from ssl import SSLContext

ProtocolT = TypeVar("ProtocolT", bound=asyncio.BaseProtocol)


async def dial(
    factory: Callable[[], ProtocolT], host: str, port: int, context: SSLContext | None
) -> tuple[asyncio.Transport, ProtocolT]:
    """Connect as the loop's `create_connection` does, to the addresses of a host one after the other.

    :raises OSError: when the name cannot be resolved, or no address lets us in: why the last one did not
    """
    failure = OSError(f"{host} has no address")
    left = await resolve(host, port)
    while left:
        address = left.pop(0)
        try:
            found = await _reach(address, port, LONGEST_WAIT if left else None)
            return await _connection(factory, found, host, context)
        except OSError as error:
            failure = error
    raise failure


async def _connection(
    factory: Callable[[], ProtocolT], found: socket.socket, host: str, context: SSLContext | None
) -> tuple[asyncio.Transport, ProtocolT]:
    """A transport over a connected socket, which belongs to the loop from here on."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_connection(factory, sock=found, ssl=context, server_hostname=host if context else None)
    finally:
        if not isinstance(loop, asyncio.BaseEventLoop):
            # uvloop closes the descriptor by itself. If the peer resets at once, uvloop does so before it remembers the
            # socket. The socket would then close the same number again, and by that time it may belong to the
            # application.
            found.detach()


async def _reach(address: str, port: int, seconds: float | None) -> socket.socket:
    """A socket that is connected.

    :raises OSError: when it cannot be, or not in time
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setblocking(False)
    attempt = asyncio.ensure_future(_connect(found, (address, port)))
    try:
        await asyncio.wait({attempt}, timeout=seconds)
        if not attempt.done():
            raise TimeoutError(f"no connection to {address} within {seconds:g} s")
        attempt.result()
    except BaseException:
        attempt.cancel()
        # and not sooner: the loop still watches it
        attempt.add_done_callback(lambda _: found.close())
        raise
    return found


async def _connect(found: socket.socket, address: tuple[str, int]) -> None:
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.BaseEventLoop):
        await loop.sock_connect(found, address)
        return
    # uvloop looks up even an address, in a pool of threads that stays. A child that is forked afterwards crashes at its
    # end, where libuv waits for those threads.
    code = found.connect_ex(address)
    if code == errno.EINPROGRESS:
        is_writable = asyncio.Event()
        loop.add_writer(found, is_writable.set)
        try:
            await is_writable.wait()
        finally:
            loop.remove_writer(found)
        code = found.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, f"{os.strerror(code)}: {address[0]}")
