"""The checks of httpx and httpx2, and the other end of calls in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import anyio

from .http_client_checks import HttpClientChecks, StreamChecks


class Peer:
    """Answers requests, and keeps them."""

    def __init__(self, library: Any) -> None:
        """:param library: the module"""
        self.requests: list[Any] = []
        self._library = library

    def answer(self, request: Any) -> Any:
        """Answer at once."""
        self.requests.append(request)
        return self._library.Response(200, content=[b"a", b"b"])

    async def answer_async(self, request: Any) -> Any:
        """The same, with a body that is asynchronous. For `/slow` there is no answer."""
        response = self.answer(request)
        if request.url.path == "/slow":
            await anyio.sleep_forever()
        return self._library.Response(response.status_code, headers=response.headers, content=_body())


async def _body() -> AsyncIterator[bytes]:
    yield b"a"
    yield b"b"


class HttpxChecks(HttpClientChecks, StreamChecks):
    """Of the client that blocks.

    :cvar module: the library
    """

    component = "HTTPX"
    module: ClassVar[Any]

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        with self.module.Client(trust_env=False, follow_redirects=True, timeout=timeout) as client:
            client.get(url, headers=headers)

    @contextmanager
    def stream(self, url: str) -> Iterator[Callable[[], bytes]]:
        with self.module.Client(trust_env=False) as client, client.stream("GET", url) as response:
            yield response.read


class AsyncHttpxChecks(HttpClientChecks):
    """Of the other one."""

    component = "HTTPX"
    module: ClassVar[Any]

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        asyncio.run(self._get(url, headers, timeout))

    async def _get(self, url: str, headers: Mapping[str, str], timeout: float | None) -> None:
        async with self.module.AsyncClient(trust_env=False, follow_redirects=True, timeout=timeout) as client:
            await client.get(url, headers=headers)
