"""The HTTP intake: the protocol's JSON endpoints, as OAP has them on port 12800.

A request is taken whole or not at all, and answered when all of it is committed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ..gate import Gate
from ..store.database import StoreError
from ..store.protocol import parse_json
from ..store.store import Store
from .messages import Intake

MAX_BODY = 50 * 1024 * 1024
_LISTS = {"/v3/segments": "SegmentObject", "/v3/logs": "LogData", "/v3/events": "Event"}
_SINGLES = {
    "/v3/segment": "SegmentObject",
    "/v3/management/reportProperties": "InstanceProperties",
    "/v3/management/keepAlive": "InstancePingPkg",
}


class RequestError(Exception):
    """A request that is refused.

    :ivar status: of the answer
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def intake_app(store: Store, host: str) -> ASGIApp:
    """The application.

    :param host: what it will listen on
    """

    async def take(request: Request) -> Response:
        path = request.url.path
        is_list = path in _LISTS
        name = _LISTS[path] if is_list else _SINGLES[path]
        try:
            value = _decoded(await _body(request))
            _take(store, name, _elements(name, value) if is_list else [value])
        except ValueError as error:
            return _error(400, str(error))
        except RequestError as error:
            return _error(error.status, str(error))
        except StoreError as error:
            return _error(503, str(error))
        return JSONResponse({})

    routes = [Route(path, take, methods=["POST"]) for path in (*_LISTS, *_SINGLES)]
    app = Starlette(routes=routes, exception_handlers={404: _nowhere, ClientDisconnect: _nobody})
    return Gate(app, host, ("POST",), names_matter=False)


def _take(store: Store, name: str, values: Sequence[Any]) -> None:
    messages = [parse_json(name, value) for value in values]
    intake = Intake(store)
    for message in messages:
        intake.take_message(name, message)
    intake.commit()


async def _body(request: Request) -> bytes:
    """:raises RequestError: when it is too large, or compressed"""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RequestError(415, "compressed bodies are not accepted")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise RequestError(413, f"the body is larger than {MAX_BODY} bytes")
    return bytes(body)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is no JSON: {error}") from error


def _elements(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ValueError(f"a JSON array of {name} is needed, not {type(value).__name__}")
    return cast("Sequence[Any]", value)


def _error(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)


async def _nowhere(request: Request, error: Exception) -> Response:  # noqa: ARG001
    known = ", ".join((*_LISTS, *_SINGLES))
    return _error(404, f"nothing is taken at {request.url.path}; what there is: {known}")


async def _nobody(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return Response(status_code=400)  # the client is gone, nobody reads this
