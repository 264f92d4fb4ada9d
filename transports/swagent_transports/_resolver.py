"""From a host's name to its addresses, in a thread that the process does not wait for.

asyncio waits at its end for the threads of its own resolver, even where the call was cancelled. So a name server that
does not answer would hold up the end of the application.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterable
from random import Random

import anyio

from swagent.backend import loop_notifier

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
    found: list[list[str] | OSError] = []
    is_done, notify = anyio.Event(), loop_notifier()

    def look_up() -> None:
        try:
            found.append(_look_up(host, port))
        except OSError as error:
            found.append(error)
        except UnicodeError as error:
            found.append(OSError(f"{host!r} is no host name: {error}"))
        notify(is_done.set)

    try:
        threading.Thread(target=look_up, name="swagent-resolver", daemon=True).start()
    except RuntimeError as error:
        raise OSError(f"{host} cannot be looked up: {error}") from error
    await is_done.wait()
    (outcome,) = found
    if isinstance(outcome, OSError):
        raise outcome
    return outcome


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return shuffled((str(address[0]) for *_, address in found), JITTER)


def shuffled(addresses: Iterable[str], random: Random) -> list[str]:
    """Each address once, in an order that is drawn, or all agents would go to the first collector of a name. Which
    family of addresses comes first stays as the system has it."""
    families: dict[bool, list[str]] = {}
    for each in dict.fromkeys(addresses):
        families.setdefault(":" in each, []).append(each)
    for family in families.values():
        random.shuffle(family)
    return [each for family in families.values() for each in family]
