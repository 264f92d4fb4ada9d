"""From a host's name to its addresses, in a thread that the process does not wait for.

asyncio waits at its end for the threads of its own resolver, even where the call was cancelled. So a name server that
does not answer would hold up the end of the application.
"""

from __future__ import annotations

import ipaddress
import socket
import threading

import anyio

from swagent.backend import loop_notifier

# Seconds for which an address is tried while there are others. A name may have several servers, and one that is
# silently dead must not use up the time of the rest.
LONGEST_WAIT = 1.0


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which to try them. On any event loop.

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
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
