"""The HTTP intake: the protocol's JSON endpoints, as OAP has them on port 12800, and those of OTLP.

A request is taken whole or not at all, and answered when all of it is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, cast

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ..gate import Gate
from ..refusals import REFUSALS, refuse, refuse_body
from ..store.store import Store
from ..store.wire_pieces import SMALL
from .bodies import body_of
from .json_messages import encoded
from .json_pieces import read
from .messages import Intake
from .otlp.http import PATHS as OTLP_PATHS
from .otlp.http import routes as otlp_routes
from .otlp.taking import OtlpIntake
from .room import Room

# Bytes of a body from which on one is read at a time.
_LARGE = 64 * 1024
_LISTS = {"/v3/segments": "SegmentObject", "/v3/logs": "LogData", "/v3/events": "Event"}
_SINGLES = {
    "/v3/segment": "SegmentObject",
    "/v3/management/reportProperties": "InstanceProperties",
    "/v3/management/keepAlive": "InstancePingPkg",
}


def intake_app(store: Store, host: str) -> ASGIApp:
    """The application.

    :param host: the address on which it will listen
    """

    room, turn = Room(), anyio.Lock()

    async def take(request: Request) -> Response:
        path = request.url.path
        is_list = path in _LISTS
        name = _LISTS[path] if is_list else _SINGLES[path]
        try:
            with room.hold() as hold:
                body = await body_of(request, hold)
                async with turn if len(body) > _LARGE else nullcontext():
                    await _take(store, room.parsing, name, body, is_list)
        except REFUSALS as error:
            return refuse_body(error, "the body")
        return JSONResponse({})

    routes = [Route(path, take, methods=["POST"]) for path in (*_LISTS, *_SINGLES)]
    routes += otlp_routes(OtlpIntake(store), room)
    app = Starlette(routes=routes, exception_handlers={404: _nowhere, ClientDisconnect: _client_left})
    return Gate(app, host, ("POST",), names_matter=False)


async def _take(store: Store, parsing: anyio.CapacityLimiter, name: str, body: bytes, is_list: bool) -> None:
    if len(body) <= SMALL:
        messages = _messages(name, body, is_list)
    else:
        messages = await anyio.to_thread.run_sync(_messages, name, body, is_list, limiter=parsing)
    intake = Intake(store, parsing)
    await intake.take_all(name, messages)
    intake.commit()


def _messages(name: str, body: bytes, is_list: bool) -> list[bytes]:
    """The messages in a body, as bytes."""
    try:
        value = read(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is no JSON: {error}") from error
    return [encoded(name, each) for each in (_elements(name, value) if is_list else [value])]


def _elements(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ValueError(f"a JSON array of {name} is needed, not {type(value).__name__}")
    return cast("Sequence[Any]", value)


async def _nowhere(request: Request, error: Exception) -> Response:  # noqa: ARG001
    known = ", ".join((*_LISTS, *_SINGLES, *OTLP_PATHS))
    return refuse(404, f"nothing is taken at {request.url.path}; what there is: {known}")


async def _client_left(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return Response(status_code=400)  # the client has left
