"""The other end of calls of httpx and httpx2, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio


class Peer:
    """Answers requests, and keeps them."""

    def __init__(self, library: Any, headers: Mapping[str, str] | None = None) -> None:
        """
        :param library: the module
        :param headers: of its answers
        """
        self.requests: list[Any] = []
        self._library = library
        self._headers = headers

    def answer(self, request: Any) -> Any:
        """Answer at once."""
        library = self._library
        self.requests.append(request)
        if request.url.path == "/moved":
            return library.Response(302, headers={"location": "http://other.test/orders/17"})
        if request.url.path == "/refused":
            raise library.ConnectError("refused", request=request)
        status = 404 if request.url.path == "/missing" else 200
        return library.Response(status, headers=self._headers, content=[b"a", b"b"])

    async def answer_async(self, request: Any) -> Any:
        """The same, with a body that is asynchronous. For `/slow` there is no answer."""
        response = self.answer(request)
        if request.url.path == "/slow":
            await anyio.sleep_forever()
        return self._library.Response(response.status_code, headers=response.headers, content=_body())


async def _body() -> AsyncIterator[bytes]:
    yield b"a"
    yield b"b"
