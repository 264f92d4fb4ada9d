"""The program that asks for names that fail: `python -m stress.lessons.names_asking CLIENT PORT`.

Prints one line of JSON. A stand-in is in the place of the system's resolver, so that no question leaves the process.
Like the system's it holds its thread until it answers: for a second, where the system's default is ten.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from typing import Any

from .http_clients import CLIENTS, Get

HELD = 1.0
"""Seconds until the stand-in gives up a name of which no server answers."""
DEADLINE = 0.2
"""Seconds that the clients allow for a connection."""
ASKED = 32
"""How many requests there are at once to the name of which no server answers."""
_LONG = 30.0
_MISSING, _SILENT, _OTHER = "missing.invalid", "silent.invalid", "other.invalid"
_resolve = socket.getaddrinfo


def stand_in(host: Any, *arguments: Any, **named: Any) -> Any:
    """Answer as `socket.getaddrinfo` does.

    :raises socket.gaierror: for the names that fail
    """
    name = host.decode() if isinstance(host, bytes) else host
    if name == _MISSING:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    if name == _SILENT:
        time.sleep(HELD)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return _resolve("127.0.0.1" if name == _OTHER else host, *arguments, **named)


async def _time(get: Get, host: str, port: str) -> tuple[float, str]:
    """Seconds until it ends, and the error's class."""
    began = time.perf_counter()
    try:
        await get(f"http://{host}:{port}/item")
    except Exception as error:  # the clients have no class in common, and which one it is belongs to the result
        return time.perf_counter() - began, type(error).__name__
    return time.perf_counter() - began, ""


async def run(client: str, port: str) -> dict[str, tuple[float, str]]:
    """Ask for all names: the last two while lookups of the silent one still hold their threads."""
    async with CLIENTS[client]("", _LONG) as first:
        await _time(first, "127.0.0.1", port)  # what is imported at first is not measured
    async with CLIENTS[client]("", DEADLINE) as get, CLIENTS[client]("", _LONG) as patient:
        missing = await _time(get, _MISSING, port)
        silent = await asyncio.gather(*(_time(get, _SILENT, port) for _ in range(ASKED)))
        address = await _time(patient, "127.0.0.1", port)
        return {"missing": missing, "silent": max(silent), "address": address,
                "other": await _time(patient, _OTHER, port)}  # fmt: skip


def main(client: str, port: str) -> None:
    """Run it."""
    socket.getaddrinfo = stand_in
    print(json.dumps(asyncio.run(run(client, port))))


if __name__ == "__main__":
    main(*sys.argv[1:])
