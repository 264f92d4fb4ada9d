"""httpx and aiohttp behind one call: get a page, whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx

Get = Callable[[str], Awaitable[None]]
"""Gets a URL. An error of the client passes; so does a status that isn't 200, as AssertionError."""
_SECONDS = 30.0


@asynccontextmanager
async def _httpx(proxy: str, connect: float) -> AsyncIterator[Get]:
    timeout = httpx.Timeout(_SECONDS, connect=connect)
    async with httpx.AsyncClient(proxy=proxy or None, trust_env=False, timeout=timeout) as client:

        async def get(url: str) -> None:
            assert (await client.get(url)).status_code == 200

        yield get


@asynccontextmanager
async def _aiohttp(proxy: str, connect: float) -> AsyncIterator[Get]:
    import aiohttp  # type: ignore[import-not-found, unused-ignore]

    timeout = aiohttp.ClientTimeout(total=_SECONDS, connect=connect)
    async with aiohttp.ClientSession(timeout=timeout) as session:

        async def get(url: str) -> None:
            async with session.get(url, proxy=proxy or None) as response:
                await response.read()
                assert response.status == 200

        yield get


CLIENTS: Mapping[str, Callable[[str, float], AbstractAsyncContextManager[Get]]] = {"httpx": _httpx, "aiohttp": _aiohttp}
"""By their names. Each takes a proxy's URL, or nothing, and the seconds that a connection may take, with its name."""
