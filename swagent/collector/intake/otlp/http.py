"""OTLP over HTTP: protobuf or JSON by the content type, compressed or not. The answer is in the same form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...refusals import REFUSALS, refuse_body
from ...store.wire_pieces import SMALL
from ..bodies import RequestError, body_of
from ..json_pieces import TooLargeError
from ..room import MAX_BODY, Hold, Room
from .inflating import TooLargeInsideError, inflate
from .taking import OtlpIntake
from .wire import KINDS, Item, from_json, from_protobuf, to_json

PATHS = {f"/v1/{signal}": signal for signal in KINDS}
# Python reads JSON in one go, and keeps the interpreter meanwhile.
_MAX_JSON = 4 * 1024 * 1024
_PROTOBUF, _JSON = "application/x-protobuf", "application/json"


def routes(intake: OtlpIntake, room: Room) -> list[Route]:
    """The endpoints.

    :param room: what all requests of the server share
    """

    async def take(request: Request) -> Response:
        signal = PATHS[request.url.path]
        try:
            kind = _kind_of(request)
            with room.hold() as hold:
                body = await _body(request, hold, room)
                items = await _items(signal, kind, body, room)
                reply = await intake.take(signal, items)
        except REFUSALS as error:
            return refuse_body(error, "the body")
        if kind == _JSON:
            return Response(json.dumps(to_json(reply)), media_type=_JSON)
        return Response(reply.SerializeToString(), media_type=_PROTOBUF)

    return [Route(path, take, methods=["POST"]) for path in PATHS]


def _kind_of(request: Request) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (_PROTOBUF, _JSON):
        raise RequestError(415, f"the body must be {_PROTOBUF} or {_JSON}")
    return kind


async def _body(request: Request, hold: Hold, room: Room) -> bytes:
    """The body, decompressed."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "gzip":
        return await body_of(request, hold)
    packed = await body_of(request, hold, encodings=("gzip",))
    hold.grow(MAX_BODY)
    try:
        if len(packed) <= SMALL:
            return inflate(packed)
        return await anyio.to_thread.run_sync(inflate, packed, limiter=room.parsing)
    except TooLargeInsideError as error:
        raise RequestError(413, str(error)) from error


async def _items(signal: str, kind: str, body: bytes, room: Room) -> Iterator[Item]:
    if kind == _PROTOBUF:
        return from_protobuf(signal, body)
    value = _read(body) if len(body) <= SMALL else await anyio.to_thread.run_sync(_read, body, limiter=room.parsing)
    return from_json(signal, value)


def _read(body: bytes) -> Any:
    if len(body) > _MAX_JSON:
        raise TooLargeError(f"{len(body)} bytes of JSON, where {_MAX_JSON} are taken: send protobuf")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is no JSON: {error}") from error
