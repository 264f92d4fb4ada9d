"""An application in an interpreter, asked without a server.

    python -m stress.lessons.interpreter_program ADDRESS REQUESTS ROUNDS FILE

It writes JSON to the file: microseconds of processor time a request, how many records were made and confirmed, and
whether the accelerator recorded them.

It needs nothing but swagent, so that it runs wherever that is installed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import swagent
from swagent.acceleration import native
from swagent.asgi import SkyWalkingMiddleware

App = Callable[..., Awaitable[None]]
WARM_UP = 20_000
"""Requests before the first round: a compiler that works while the program runs needs some thousands."""
_SCOPE = {
    "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": "GET",
    "scheme": "http", "path": "/orders", "raw_path": b"/orders", "query_string": b"", "root_path": "",
    "headers": [(b"host", b"127.0.0.1:8000"), (b"user-agent", b"lesson")],
    "client": ("127.0.0.1", 40000), "server": ("127.0.0.1", 8000),
}  # fmt: skip


async def application(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001
    """An endpoint that computes a little, with a span of its own for that."""
    with swagent.local_span("sum"):
        orders = [{"id": number, "price": number * 7 % 50} for number in range(40)]
        total = sum(order["price"] for order in orders if order["id"] % 3)
    body = json.dumps({"count": len(orders), "total": total}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})


async def _receive() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def ask(app: App, requests: int) -> None:
    """Ask so many times, one after the other; other tasks of the loop have their turn after each."""

    async def send(message: Any) -> None:
        assert message["type"] != "http.response.start" or message["status"] == 200

    for _ in range(requests):
        await app(dict(_SCOPE), _receive, send)
        await asyncio.sleep(0)


async def measure(app: App, requests: int, rounds: int) -> float:
    """The median of the rounds: microseconds of the process a request."""
    await ask(app, WARM_UP)
    found: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        await ask(app, requests)
        found.append((time.process_time() - began) / requests * 1e6)
    return median(found)


async def run(address: str, requests: int, rounds: int) -> dict[str, float]:
    """Measure without an agent where there is no address."""
    if not address:
        return {"us": await measure(application, requests, rounds), "made": 0, "confirmed": 0}
    agent = swagent.Agent(swagent.Config(service="lesson", collector=address))
    async with agent:
        found = await measure(SkyWalkingMiddleware(application, agent=agent), requests, rounds)
    return {"us": found, "made": WARM_UP + requests * rounds, "confirmed": agent.statistics().segment.confirmed}


def main(address: str, requests: str, rounds: str, file: str) -> None:
    """Run it."""
    found = asyncio.run(run(address, int(requests), int(rounds)))
    Path(file).write_text(json.dumps({**found, "is_accelerated": native is not None}))


if __name__ == "__main__":
    main(*sys.argv[1:])
