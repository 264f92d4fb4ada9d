"""Answers a request by a query, and ends the query when the client leaves."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio
from starlette.requests import Request
from starlette.responses import Response

from ..refusals import refuse
from ..store.database import StoreError
from .encoding import encode
from .memo import Memo
from .parameters import Parameters
from .queries import Query
from .query_thread import QueryThread

Endpoint = Callable[[Request], Awaitable[Response]]


def query_endpoint(thread: QueryThread, query: Query, memo: Memo | None) -> Endpoint:
    """The endpoint that runs a query for each request.

    :param memo: answers in place of the query where the request has no parameters
    """

    async def ask(request: Request) -> Response:
        parameters = Parameters.of(request)
        try:
            if memo is not None and not request.query_params:
                return json_response(await memo.ask())
            found, milliseconds = await thread.run(lambda: _run(query, parameters))
        except ValueError as error:
            return refuse(400, str(error))
        except StoreError as error:
            return refuse(503, str(error))
        if found is None:
            name = ", ".join(map(str, request.path_params.values()))
            return refuse(404, f"nothing is kept of {name!r}: it never came, or fell out")
        return json_response(found, milliseconds)

    async def answer(request: Request) -> Response:
        response = Response(status_code=400)  # the client has left
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_when_left, request, group.cancel_scope)
            response = await ask(request)
            group.cancel_scope.cancel()
        return response

    return answer


def json_response(answer: bytes, milliseconds: float = 0.0) -> Response:
    """The response with an encoded answer.

    :param milliseconds: of processor time that it took: so the page knows how often it may ask
    """
    headers = {"cache-control": "no-store", "server-timing": f"query;dur={milliseconds:.1f}"}
    return Response(answer, media_type="application/json", headers=headers)


def _run(query: Query, parameters: Parameters) -> tuple[bytes | None, float]:
    began = time.thread_time()
    found = query(parameters)
    encoded = None if found is None else encode(found)
    return encoded, (time.thread_time() - began) * 1000


async def _cancel_when_left(request: Request, scope: anyio.CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
