"""The page and its JSON API: read-only, but for profile tasks and files of traces that come in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from ..exchange.endpoints import EXPORT, IMPORT, export_endpoint, import_endpoint
from ..gate import Gate
from ..mcp.asking import OwnStore
from ..mcp.endpoint import PATH as MCP
from ..mcp.endpoint import McpEndpoint
from ..refusals import refuse
from ..store.database import StoreError
from ..store.store import Store
from .assets import Assets
from .changes import Changes
from .encoding import encode
from .instances import status
from .memo import Memo
from .preparation import prepare
from .profile_order import PATH as PROFILES
from .profile_order import order_endpoint
from .queries import Answer, memos, queries
from .query_endpoint import json_response, query_endpoint
from .query_thread import QueryThread

PAGE = Path(__file__).parent.parent / "page"
_MISSING = (
    "The page is not part of this installation: swagent/collector/page/index.html is missing. "
    "The JSON API is there, under /api/status.\n"
)


def page_app(store: Store, changes: Changes, addresses: Callable[[], Answer], host: str, page: Path = PAGE) -> ASGIApp:
    """The application.

    :param changes: the streams that announce new records
    :param addresses: where else the collector listens, for the status
    :param host: the address on which it will listen
    :param page: the folder of the page's files
    """
    thread = QueryThread()
    found = queries(store)
    kept = memos(store, thread, found)
    api = [Route(path, query_endpoint(thread, query, kept.get(path))) for path, query in found.items()]
    api.append(Route("/api/status", _status(store, addresses)))
    api.append(Route(EXPORT, export_endpoint(store, thread, found["/api/traces"])))
    api.append(Route(IMPORT, import_endpoint(store), methods=["POST"]))
    api.append(Route("/api/live", _live(changes)))
    api.append(Route(PROFILES, order_endpoint(store), methods=["POST"]))
    api.append(Route(MCP, McpEndpoint(OwnStore(found, thread))))

    assets = Assets(page)

    async def index(request: Request) -> Response:
        if not (page / "index.html").is_file():
            return PlainTextResponse(_MISSING, 404)
        return assets.index(request.headers)

    routes = [*api, Route("/", index), Mount("/assets", assets)]
    lifespan = _prepared(store, kept["/api/findings"])
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error, StoreError: _store_error}
    )
    return Gate(app, host, ("GET", "HEAD"), names_matter=True, orders=(PROFILES, IMPORT, MCP))


def _prepared(store: Store, memo: Memo) -> Callable[[Starlette], Any]:
    """The application's lifespan, in which an answer is made before it is asked for."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:  # noqa: ARG001
        async with anyio.create_task_group() as group:
            group.start_soon(prepare, store, memo.ask)
            yield
            group.cancel_scope.cancel()

    return lifespan


def _status(store: Store, addresses: Callable[[], Answer]) -> Callable[[Request], Any]:
    """It takes no time, so it does not wait for the query thread."""

    async def answer(request: Request) -> Response:  # noqa: ARG001
        return json_response(encode({**status(store), **addresses()}))

    return answer


def _live(changes: Changes) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(
            changes.stream(), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    return answer


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    text = f"there is nothing at {request.url.path}" if error.status_code == 404 else error.detail
    return refuse(error.status_code, text)


async def _store_error(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return refuse(503, str(error))
