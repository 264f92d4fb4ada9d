"""The program that asks peers in one of the ways: `python -m stress.lessons.asking WAY REQUESTS ADDRESS...`

Each request is a span. The program without a loop of its own, which runs one for each item, is as people write it in
a script or a thread.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

import httpx

import swagent

ITEMS = 5
WAYS = ("in sequence", "a run per item", "gathered")


async def _ask(address: str) -> None:
    # without certificates, whose loading would be time of its own between the calls
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as client:
        (await client.get(f"http://{address}/item")).raise_for_status()


def _answer(way: str, addresses: Sequence[str]) -> None:
    async def answer() -> None:
        with swagent.entry_span(f"GET:/{way.replace(' ', '-')}"):
            if way == "gathered":
                await asyncio.gather(*map(_ask, addresses))
                return
            for each in addresses:
                await _ask(each)

    if way != "a run per item":
        asyncio.run(answer())
        return
    with swagent.entry_span("GET:/a-run-per-item"):
        for each in addresses:
            asyncio.run(_ask(each))


def main(way: str, requests: str, *addresses: str) -> None:
    """Answer so many requests, one at a time."""
    for _ in range(int(requests)):
        _answer(way, addresses)
    print(json.dumps({"answered": int(requests)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
