"""From a host's name to its addresses, in a thread that nobody waits for.

asyncio waits at its end for the threads of its own resolver, and trio_asyncio even where the call was cancelled. So a
name server that does not answer would hold up the end of the application.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which to try them.

    :raises OSError: when the name cannot be resolved
    """
    if _is_address(host):
        return [host]
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def settle(function: Callable[[Any], None], outcome: object) -> None:
        if not found.done():
            function(outcome)

    def look_up() -> None:
        try:
            outcome: Any = _look_up(host, port)
            function: Callable[[Any], None] = found.set_result
        except OSError as error:
            outcome, function = error, found.set_exception
        except UnicodeError as error:
            outcome, function = OSError(f"{host!r} is no host name: {error}"), found.set_exception
        with suppress(RuntimeError):  # the loop has ended, so nobody wants to know
            loop.call_soon_threadsafe(settle, function, outcome)

    threading.Thread(target=look_up, name="swagent-resolver", daemon=True).start()
    return await found


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
