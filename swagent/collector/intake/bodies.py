"""Takes the body of a request in: as large, as slow and as plain as is allowed."""

from __future__ import annotations

from collections.abc import Collection

import anyio
from starlette.requests import Request

from .room import BODY_SECONDS, MAX_BODY, Hold


class RequestError(Exception):
    """A request that is refused.

    :ivar status: of the answer
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def body_of(
    request: Request, hold: Hold, most: int | None = None, *, encodings: Collection[str] = ("identity",)
) -> bytes:
    """The body, once all of it has come. If its head says that it is too large, it is refused before the rest comes.

    :param most: how many bytes it may have, where it is less than for others
    :param encodings: in which it may come; it is not decoded
    :raises RequestError: when it is too large, too slow, or compressed
    :raises NoRoomError: when too much is under way
    """
    if request.headers.get("content-encoding", "identity").strip().lower() not in encodings:
        raise RequestError(415, "compressed bodies are not accepted")
    length = request.headers.get("content-length", "")
    limit = MAX_BODY if most is None else most
    _claim(int(length) if length.isdecimal() else 0, limit, hold)
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        async for chunk in request.stream():
            body += chunk
            _claim(len(body), limit, hold)
        return bytes(body)
    raise RequestError(408, f"the body has not arrived within {BODY_SECONDS:g} s")


def _claim(size: int, limit: int, hold: Hold) -> None:
    if size > limit:
        raise RequestError(413, f"the body is larger than {limit} bytes")
    hold.grow(size)
