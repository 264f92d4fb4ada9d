"""The answers to refused requests: the same at the intake's port and at the page's."""

from __future__ import annotations

from starlette.responses import JSONResponse

from .intake.bodies import RequestError
from .intake.json_pieces import TooLargeError
from .intake.room import NoRoomError
from .store.database import StoreError

REFUSALS = (ValueError, TooLargeError, RequestError, NoRoomError, StoreError)
"""The errors for which a body is not taken."""


def refuse(status: int, text: str) -> JSONResponse:
    """The answer with a status and a sentence."""
    # a path may hold half a character, which no encoding has
    return JSONResponse({"error": text.encode("utf-8", "replace").decode()}, status)


def refuse_body(error: Exception, what: str) -> JSONResponse:
    """The answer to a body that is not taken.

    :param error: one of `REFUSALS`
    :param what: a name for the body, such as `the file`
    """
    if isinstance(error, RequestError):
        return refuse(error.status, str(error))
    if isinstance(error, TooLargeError):
        return refuse(413, f"{what} holds {error}")
    return refuse(503 if isinstance(error, NoRoomError | StoreError) else 400, str(error))
