"""Runs before each call: checks the token, and gives a status to what grpclib only asserts."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from grpclib.const import Status
from grpclib.events import RecvRequest, listen
from grpclib.exceptions import GRPCError
from grpclib.server import Server

Call = Callable[..., Any]


def guard(server: Server, token: str) -> None:
    """Have each call of a server checked and its errors translated.

    :param token: the metadata `authentication` must be equal to it, or `authorization` to it behind `Bearer`; empty: no
        check
    """

    async def admit(event: RecvRequest) -> None:
        given = str(event.metadata.get("authentication", "")) or _bearer(event.metadata.get("authorization", ""))
        if token and not hmac.compare_digest(given.encode(), token.encode()):
            event.method_func = _deny
        else:
            event.method_func = _translated(event.method_func)

    listen(server, RecvRequest, admit)


def _bearer(authorization: object) -> str:
    scheme, _, token = str(authorization).partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _deny(stream: Any) -> None:  # noqa: ARG001
    raise GRPCError(Status.PERMISSION_DENIED, "the metadata `authentication` is missing or wrong")


def _translated(call: Call) -> Call:
    async def translated(stream: Any) -> None:
        try:
            await call(stream)
        except NotImplementedError as error:  # grpclib's answer to a compressed message
            raise GRPCError(Status.UNIMPLEMENTED, "compressed messages are not accepted") from error
        except AssertionError as error:  # grpclib's answer to a stream that ends within a message
            raise GRPCError(Status.INVALID_ARGUMENT, "the stream ended within a message") from error

    return translated
