"""One POST over httpx's transport layer, and how far it came."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import httpcore
import httpx
from anyio import CancelScope

from ._http_reading import FrugalStream

MAX_REPLY = 256 * 1024
# A piece of a reply counts as at least so many bytes: a reply of one-byte pieces costs time, not memory.
_LEAST_PIECE = 1024


class _Body(httpx.AsyncByteStream):
    """A request's body in one piece, which knows how far it came.

    It is no async generator: if a failing write left one behind, the loop would close it in another task, at any time.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.may_have_left = False
        self.is_written = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self.may_have_left:
            self.is_written = True
            raise StopAsyncIteration
        self.may_have_left = True
        # not kept here: httpcore keeps the request until the answer has come
        content, self._content = self._content, b""
        return content


class _Dialled:
    """Learns from httpcore which connection it dialled for a request. A request must not refer to its exchange: the two
    would be a cycle and wait for the garbage collector.

    :ivar stream: the connection; None: an open one is used
    """

    stream: httpcore.AsyncNetworkStream | None = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """httpcore's `trace` extension."""
        if event == "connection.connect_tcp.complete":
            self.stream = info["return_value"]


class Exchange:
    """One POST and its answer: what is known of them, whatever ends it.

    :ivar response: the answer's head, None as long as there is none
    :ivar is_garbled: what comes behind that head cannot be read
    :ivar reply: the body of the answer, where it is kept
    :ivar scope: ends it
    :ivar ended: set when it is over and holds no connection any more
    """

    def __init__(
        self, url: httpx.URL, headers: Mapping[str, str], content: bytes, *, keeps_reply: bool = False
    ) -> None:
        self._body = _Body(content)
        fields = {"host": url.netloc.decode("ascii"), **headers, "content-length": str(len(content))}
        self._dialled = _Dialled()
        tracing = {"trace": self._dialled}
        self._request = httpx.Request("POST", url, headers=fields, stream=self._body, extensions=tracing)
        self.response: httpx.Response | None = None
        self.is_garbled = False
        self.reply = bytearray()
        self._keeps_reply = keeps_reply
        self.scope = CancelScope()
        self.ended = anyio.Event()

    @contextmanager
    def dialling_within(self, seconds: float) -> Generator[None, None, None]:
        """Let it fail, with nothing sent, where it has no connection after so many seconds for an address."""
        timeouts: dict[str, float | None] = {"connect": seconds, "read": None, "write": None, "pool": None}
        self._request.extensions["timeout"] = timeouts
        try:
            yield
        finally:
            del self._request.extensions["timeout"]

    @property
    def may_have_sent(self) -> bool:
        """Whether any byte of the body may have left. A request's head alone delivers nothing."""
        return self._body.may_have_left

    @property
    def is_sent(self) -> bool:
        """Whether all of the body was written."""
        return self._body.is_written

    async def run(self, http: httpx.AsyncHTTPTransport) -> None:
        """Send, take the head of the answer, and read the rest only to have the connection for the next call.

        Cancelled, or broken, it closes its connection.

        :raises Exception: whatever httpx and the layers below it raise
        """
        try:
            self.response = await http.handle_async_request(self._request)
        except BaseException:
            # httpcore 1.0 does not close what it dialled when it is cancelled amid the TLS handshake
            if self._dialled.stream is not None:
                with CancelScope(shield=True):
                    await self._dialled.stream.aclose()
            raise
        await self._drain(self.response)

    async def _drain(self, response: httpx.Response) -> None:
        size = 0
        stream = response.extensions.get("network_stream")
        # it is another one where the peer switched protocols
        frugal = stream if isinstance(stream, FrugalStream) else None
        if frugal is not None:
            frugal.allow(2 * MAX_REPLY)  # the framing of the reply takes some bytes more
        try:
            with CancelScope() as scope:
                async for piece in response.aiter_raw():
                    size += max(len(piece), _LEAST_PIECE)
                    if self._keeps_reply:
                        self.reply += piece
                    if size > MAX_REPLY:
                        # by a cancelled read and not by `break`, which would leave httpx's generators unfinished
                        scope.cancel()
        except Exception as error:
            self.is_garbled = frugal is None or frugal.is_to_blame(error)
            raise
