"""`POST /api/profiles` makes a profile task."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ..intake.bodies import RequestError, body_of
from ..intake.room import Room
from ..refusals import refuse, refuse_body
from ..store.profile_tasks import BusyError, ProfileTask
from ..store.store import Store
from .profiles import task_answer

PATH = "/api/profiles"
MAX_BODY = 4096
_MAX_TEXT = 512
# name, least, most, default: agents accept these
_NUMBERS = (
    ("seconds", 1, 900, 60),
    ("period_ms", 10, 60_000, 10),
    ("samples", 1, 9, 5),
    ("min_ms", 0, 900_000, 0),
)
_NAMES = ("service", "endpoint")


def order_endpoint(store: Store) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint that takes the requests."""
    room = Room()

    async def order(request: Request) -> Response:
        try:
            with room.hold() as hold:
                body = await body_of(request, hold, MAX_BODY)
            task = store.order_profile(read_order(json.loads(body), int(time.time() * 1000)))
        except ClientDisconnect:
            return Response(status_code=400)  # the client has left
        except RequestError as error:
            return refuse_body(error, "the body")
        except (ValueError, RecursionError) as error:
            return refuse(400, str(error))
        except BusyError as error:
            return JSONResponse({"error": str(error), "task": error.task.id}, 409)
        return JSONResponse(task_answer(task), 201)

    return order


def read_order(value: Any, now: int) -> ProfileTask:
    """The task that a body asks for.

    :param now: milliseconds since the epoch
    :raises ValueError: when it is none; says why
    """
    if not isinstance(value, dict):
        raise ValueError("a JSON object is needed")
    given = cast("dict[str, Any]", value)
    unknown = given.keys() - {*_NAMES, *(name for name, *_ in _NUMBERS)}
    if unknown:
        raise ValueError(f"there is no such field: {ascii(min(unknown))[:_MAX_TEXT]}")
    service, endpoint = (_text(given, name) for name in _NAMES)
    seconds, period, samples, min_ms = (_number(given, *each) for each in _NUMBERS)
    return ProfileTask(uuid.uuid4().hex, service, endpoint, seconds, period, samples, min_ms, now)


def _text(given: dict[str, Any], name: str) -> str:
    text = given.get(name)
    if not isinstance(text, str) or not text or len(text) > _MAX_TEXT or not text.isprintable():
        raise ValueError(f"{name}: takes a text of 1 to {_MAX_TEXT} printable characters")
    return text


def _number(given: dict[str, Any], name: str, least: int, most: int, default: int) -> int:
    number = given.get(name, default)
    if type(number) is not int or not least <= number <= most:
        raise ValueError(f"{name}: takes a whole number from {least} to {most}")
    return number
