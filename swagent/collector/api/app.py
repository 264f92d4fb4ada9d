"""The page and its JSON API: read-only."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from ..gate import Gate
from ..store.database import StoreError
from ..store.store import Store
from . import (
    calls as calls_query,
)
from . import (
    differences as differences_query,
)
from . import (
    heatmap as heatmap_query,
)
from . import (
    instances as instances_query,
)
from . import (
    logs as logs_query,
)
from . import (
    meters as meters_query,
)
from . import (
    tags as tags_query,
)
from . import (
    trace as trace_query,
)
from . import (
    traces as traces_query,
)
from .assets import Assets
from .changes import Changes
from .encoding import encode
from .matching import FILTERS
from .memo import Memo
from .parameters import Parameters

PAGE = Path(__file__).parent.parent / "page"
_MISSING = (
    "The page is not part of this installation: swagent/collector/page/index.html is missing. "
    "The JSON API is there, under /api/status.\n"
)
_Answer = dict[str, Any]
Query = Callable[[Parameters], "_Answer | Awaitable[_Answer | None] | None"]


def page_app(store: Store, changes: Changes, addresses: Callable[[], _Answer], host: str, page: Path = PAGE) -> ASGIApp:
    """The application.

    :param changes: what tells of new records
    :param addresses: where else the collector listens, for the status
    :param host: what it will listen on
    :param page: the folder of the page's files
    """
    api = [Route(path, _endpoint(query)) for path, query in _queries(store, addresses).items()]
    api.append(Route("/api/live", _live(changes)))

    assets = Assets(page)

    async def index(request: Request) -> Response:
        if not (page / "index.html").is_file():
            return PlainTextResponse(_MISSING, 404)
        return assets.response("index.html", request.headers)

    routes = [*api, Route("/", index), Mount("/assets", assets)]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error, StoreError: _store_error})
    return Gate(app, host, ("GET", "HEAD"), names_matter=True)


def _queries(store: Store, addresses: Callable[[], _Answer]) -> dict[str, Query]:
    services = Memo(store, lambda: calls_query.services(store))
    service_map = Memo(store, lambda: calls_query.service_map(store))
    tag_keys = Memo(store, lambda: tags_query.keys(store))
    return {
        "/api/status": lambda _: {**instances_query.status(store), **addresses()},
        "/api/services": lambda _: services.ask(),
        "/api/services/{service:path}/endpoints": lambda query: calls_query.endpoints(store, query.path("service")),
        "/api/instances": lambda query: instances_query.instances(store, query.text("service"), time.time()),
        "/api/traces": lambda query: traces_query.traces(
            store,
            query.present(**FILTERS),
            query.choice("sort", ("newest", "slowest")),
            query.limit(50),
            query.text("cursor"),
        ),
        "/api/traces/{trace:path}": lambda query: trace_query.trace(store, query.path("trace")),
        "/api/heatmap": lambda query: heatmap_query.heatmap(store, query.present(**FILTERS)),
        "/api/differences": lambda query: differences_query.differences(
            store, query.present(**FILTERS), query.present(numbers=tuple(differences_query.BOX))
        ),
        "/api/tags": lambda _: tag_keys.ask(),
        "/api/tags/{key:path}": lambda query: tags_query.values(store, query.path("key"), query.text("part")),
        "/api/map": lambda _: service_map.ask(),
        "/api/logs": lambda query: logs_query.logs(
            store,
            query.present(texts=("service", "level", "q", "trace_id"), numbers=("from", "to")),
            query.limit(100),
            query.text("cursor"),
        ),
        "/api/meters": lambda query: meters_query.meters(store, query.text("service"), query.text("instance")),
        "/api/meters/series": lambda query: meters_query.series(
            store, query.needed("service"), query.needed("instance"), query.needed("name"), query.number("from", 0)
        ),
        "/api/ledgers": lambda _: meters_query.ledgers(store, time.time()),
        "/api/events": lambda query: instances_query.events(store, query.text("service")),
        "/api/profiles": lambda _: instances_query.profiles(store),
    }


def _endpoint(query: Query) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            found = query(Parameters(request))
            if inspect.isawaitable(found):
                found = await found
        except ValueError as error:
            return _error(400, str(error))
        if found is None:
            return _error(
                404, f"nothing is kept of {request.url.path.rpartition('/')[2]!r}: it never came, or fell out"
            )
        return Response(await encode(found), media_type="application/json", headers={"cache-control": "no-store"})

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
    return _error(error.status_code, text)


async def _store_error(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return _error(503, str(error))


def _error(status: int, text: str) -> Response:
    # what was asked for may hold half a character, which no encoding has
    return JSONResponse({"error": text.encode("utf-8", "replace").decode()}, status)
