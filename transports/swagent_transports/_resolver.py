"""From a host's name to its addresses, in a thread that the process does not wait for.

asyncio waits at its end for the threads of its own resolver, even where the call was cancelled. So a name server that
does not answer would hold up the end of the application.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from functools import partial
from random import Random

from swagent.backend import call_in_thread

from ._connection_age import JITTER

# Seconds for which an address is tried while there are others. A name may have several servers, and one that is
# silently dead must not use up the time of the rest.
LONGEST_WAIT = 1.0


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which to try them, which is another one each time. On any event loop.

    :raises OSError: when the name cannot be resolved
    """
    if _is_address(host):
        return [host]
    try:
        return await call_in_thread(partial(_look_up, host, port), "swagent-resolver")
    except UnicodeError as error:
        raise OSError(f"{host!r} is not a host name: {error}") from error
    except RuntimeError as error:
        raise OSError(f"{host} cannot be looked up: {error}") from error


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return shuffled((str(address[0]) for *_, address in found), JITTER)


def shuffled(addresses: Iterable[str], generator: Random) -> list[str]:
    """Each address once, in an order that is drawn, or all agents would go to the first collector of a name. Which
    family of addresses comes first stays as the system has it."""
    families: dict[bool, list[str]] = {}
    for each in dict.fromkeys(addresses):
        families.setdefault(":" in each, []).append(each)
    for family in families.values():
        generator.shuffle(family)
    return [each for family in families.values() for each in family]
