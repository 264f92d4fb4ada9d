"""The addresses of the page's API under which traces leave as a file, and come back."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ..api.parameters import Parameters
from ..api.queries import Query
from ..api.query_thread import QueryThread
from ..intake.bodies import body_of
from ..intake.room import Room
from ..refusals import REFUSALS, refuse, refuse_body
from ..store.store import Store
from .export import export
from .taking import take

EXPORT = "/api/export"
IMPORT = "/api/import"
Endpoint = Callable[[Request], Awaitable[Response]]


def export_endpoint(store: Store, thread: QueryThread, search: Query) -> Endpoint:
    """A trace by `trace_id`, or those that match, as the list has them.

    :param search: the list's query
    """

    async def answer(request: Request) -> Response:
        parameters = Parameters.of(request)
        try:
            trace_id = parameters.text("trace_id")
            content = await thread.run(lambda: _file(store, trace_id, search, parameters))
        except ValueError as error:
            return refuse(400, str(error))
        if content is None:
            return refuse(404, f"nothing is kept of {trace_id!r}: it never came, or fell out")
        name = re.sub(r"[^0-9A-Za-z.-]+", "", trace_id)[:40]
        headers = {
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="trace{"-" + name if name else "s"}.json"',
        }
        return Response(content, media_type="application/json", headers=headers)

    return answer


def _file(store: Store, trace_id: str, search: Query, parameters: Parameters) -> bytes | None:
    """The file's content; None where nothing is kept of the trace."""
    if not trace_id:
        found = search(parameters) or {"traces": []}
        return export(store, [each["trace_id"] for each in found["traces"]])
    return export(store, [trace_id]) if store.segment_numbers(trace_id) else None


def import_endpoint(store: Store) -> Endpoint:
    """Takes a file in. Its size and its pieces have the limits of the HTTP intake."""
    room = Room()

    async def answer(request: Request) -> Response:
        try:
            with room.hold() as hold:
                body = await body_of(request, hold)
                return JSONResponse(await anyio.to_thread.run_sync(take, store, body, limiter=room.parsing))
        except REFUSALS as error:
            return refuse_body(error, "the file")
        except ClientDisconnect:
            return Response(status_code=400)  # the client has left

    return answer
