"""The program that gets pages: `python -m stress.lessons.http_asking CLIENT URL PROXY IN_FLIGHT REQUESTS`.

Prints requests a second and microseconds of processor time a request, as one line of JSON. PROXY may be empty.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from .http_clients import CLIENTS, Get

_CONNECT_SECONDS = 30.0


async def ask(get: Get, url: str, in_flight: int, requests: int) -> None:
    """Get a page so often, so many at a time."""
    left = requests

    async def one_after_another() -> None:
        nonlocal left
        while left:
            left -= 1
            await get(url)

    await asyncio.gather(*(one_after_another() for _ in range(in_flight)))


async def _run(client: str, url: str, proxy: str, in_flight: int, requests: int) -> dict[str, float]:
    async with CLIENTS[client](proxy, _CONNECT_SECONDS) as get:
        # the connections are opened by those that do not count
        await ask(get, url, in_flight, in_flight)
        began, cpu = time.perf_counter(), time.process_time()
        await ask(get, url, in_flight, requests)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {"rate": requests / took, "cpu": cpu / requests * 1e6}


def main(client: str, url: str, proxy: str, in_flight: str, requests: str) -> None:
    """Run it."""
    print(json.dumps(asyncio.run(_run(client, url, proxy, int(in_flight), int(requests)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
