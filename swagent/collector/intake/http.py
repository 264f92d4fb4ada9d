"""The HTTP intake: the protocol's JSON endpoints, as OAP has them on port 12800.

A request is taken whole or not at all, and answered when all of it is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from ..pace import Pace
from ..store.database import StoreError
from ..store.protocol import encode_json, field_of_span, is_long, malformed
from ..store.store import Store
from .json_pieces import TooLargeError, read
from .messages import Intake
from .room import BODY_SECONDS, MAX_BODY, Hold, NoRoomError, Room

# Bytes of a body from which on one is read at a time.
_LARGE = 64 * 1024
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

    room, turn = Room(), anyio.Lock()

    async def take(request: Request) -> Response:
        path = request.url.path
        is_list = path in _LISTS
        name = _LISTS[path] if is_list else _SINGLES[path]
        try:
            with room.hold() as hold:
                body = await _body(request, hold)
                async with turn if len(body) > _LARGE else nullcontext():
                    await _take(store, name, body, is_list)
        except ValueError as error:
            return _error(400, str(error))
        except TooLargeError as error:
            return _error(413, f"the body holds {error}")
        except RequestError as error:
            return _error(error.status, str(error))
        except NoRoomError as error:
            return _error(503, str(error))
        except StoreError as error:
            return _error(503, str(error))
        return JSONResponse({})

    routes = [Route(path, take, methods=["POST"]) for path in (*_LISTS, *_SINGLES)]
    app = Starlette(routes=routes, exception_handlers={404: _nowhere, ClientDisconnect: _nobody})
    return Gate(app, host, ("POST",), names_matter=False)


async def _take(store: Store, name: str, body: bytes, is_list: bool) -> None:
    pace = Pace()
    try:
        value = await read(body, pace)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is no JSON: {error}") from error
    messages = [await _encoded(name, each, pace) for each in (_elements(name, value) if is_list else [value])]
    intake = Intake(store)
    await intake.take_all(name, messages, pace)
    intake.commit()


async def _encoded(name: str, value: Any, pace: Pace) -> bytes:
    """The bytes of a message. Spans are translated one by one, since a segment may have many."""
    await pace.breathe()
    if name != "SegmentObject" or not isinstance(value, dict):
        return await _parsed(name, value)
    head = dict(cast("Mapping[str, Any]", value))
    if not isinstance(head.get("spans"), list):
        return await _parsed(name, head)
    spans: Sequence[Any] = head.pop("spans")
    data = bytearray(await _parsed(name, head))
    for span in spans:
        with malformed(name):
            data += field_of_span(await _parsed("SpanObject", span))
        await pace.breathe()
    return bytes(data)


async def _parsed(name: str, value: Any) -> bytes:
    """A long record is translated in a thread: the translation is foreign, and in Python."""
    if is_long(value):
        return await anyio.to_thread.run_sync(encode_json, name, value)
    return encode_json(name, value)


async def _body(request: Request, hold: Hold) -> bytes:
    """:raises RequestError: when it is too large, too slow, or compressed
    :raises NoRoomError: when too much is under way
    """
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RequestError(415, "compressed bodies are not accepted")
    length = request.headers.get("content-length", "")
    _claim(int(length) if length.isdecimal() else 0, hold)
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        async for chunk in request.stream():
            body += chunk
            _claim(len(body), hold)
        return bytes(body)
    raise RequestError(408, f"the body has not arrived within {BODY_SECONDS:g} s")


def _claim(size: int, hold: Hold) -> None:
    if size > MAX_BODY:
        raise RequestError(413, f"the body is larger than {MAX_BODY} bytes")
    hold.grow(size)


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
