"""HTTP clients: the same JSON arrays, several at a time, to a collector that waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import httpcore
import httpx

from .bench import Bench
from .records import BATCH, IN_FLIGHT, TEXT

PATH = "/v3/segments"
_HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}


async def _keep_posting(post: Callable[[bytes], Awaitable[int]], seconds: float) -> int:
    sent, until = 0, time.monotonic() + seconds

    async def keep_posting() -> None:
        nonlocal sent
        while time.monotonic() < until:
            body = b"[%b]" % b",".join([TEXT] * BATCH)
            assert await post(body) == 200
            sent += BATCH

    await asyncio.gather(*(keep_posting() for _ in range(IN_FLIGHT)))
    return sent


async def _httpx(address: str, seconds: float) -> int:
    async with httpx.AsyncClient(base_url=f"http://{address}", headers=_HEADERS) as client:

        async def post(body: bytes) -> int:
            return (await client.post(PATH, content=body)).status_code

        return await _keep_posting(post, seconds)


class _Body:
    """In one piece."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


async def _httpcore(address: str, seconds: float) -> int:
    host, _, port = address.rpartition(":")
    url = httpcore.URL(scheme="http", host=host, port=int(port), target=PATH)
    async with httpcore.AsyncConnectionPool(max_connections=None) as pool:

        async def post(body: bytes) -> int:
            fields = [("host", address), *_HEADERS.items(), ("content-length", str(len(body)))]
            response = await pool.handle_async_request(
                httpcore.Request("POST", url, headers=fields, content=_Body(body))
            )
            await response.aread()
            await response.aclose()
            return response.status

        return await _keep_posting(post, seconds)


async def _aiohttp(address: str, seconds: float) -> int:
    import aiohttp  # type: ignore[import-not-found, unused-ignore]

    async with aiohttp.ClientSession(f"http://{address}", headers=_HEADERS) as session:

        async def post(body: bytes) -> int:
            async with session.post(PATH, data=body) as response:
                await response.read()
                status: int = response.status
                return status

        return await _keep_posting(post, seconds)


BENCHES: Mapping[str, Bench] = {
    "httpx.AsyncClient": _httpx,
    "httpcore.AsyncConnectionPool (ours)": _httpcore,
    "aiohttp.ClientSession": _aiohttp,
}
