"""Sanic's own server. Sanic compiles its request handling anew when it starts, so no function of that can be wrapped: a
middleware in front of all others begins the request, its last piece ends it, and a signal reports exceptions.

Under an ASGI server the request has its span already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....asgi.middleware import MARK
from ....hosting.late_start import start_now
from ....record.trace.model import Component
from ....request.answered import note_answered
from ....request.pending import PendingRequest
from ...arguments import Args, Kwargs, argument
from ...call import safely
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches
from .server_request import begin_request, end_request, note_error, note_route
from .serving import holding_back

_REQUEST = "swagent_request"
_ERROR = "swagent_error"
_FIRST = 1_000_000


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "sanic.response.types":
        patches.wrap(module.BaseHTTPResponse, "send", _around_send)
    elif module.__name__ == "sanic.worker.manager":
        # the process that starts the workers
        patches.wrap(module.WorkerManager, "run", holding_back)
    else:
        patches.wrap(module.Sanic, "__init__", after_call(_register))


def _register(app: Any, *_: object) -> None:
    app.register_middleware(_open, "request", priority=_FIRST)
    app.register_listener(_serve, "before_server_start")
    app.add_signal(_report, "server.exception.report")


async def _serve(_: Any) -> None:
    start_now()


async def _open(asked: Any) -> None:
    safely(_begin, asked)


async def _report(exception: BaseException, **_: Any) -> None:
    safely(_note_error, exception)


def _begin(asked: Any) -> None:
    scope = getattr(getattr(asked.app, "_asgi_app", None), "transport", None)
    if asked.app.asgi and MARK in getattr(scope, "scope", {MARK: None}):
        return
    path = asked.path
    request = begin_request(
        Component.SANIC, asked.method, asked.scheme, path, asked.headers.items(), (asked.ip, asked.port),
        asked.query_string,
    )  # fmt: skip
    if request is not None:
        route = asked.route
        note_route(request, None if route is None else f"/{route.path.lstrip('/')}")
        setattr(asked.ctx, _REQUEST, request)


def _note_error(error: BaseException) -> None:
    from sanic import Request  # noqa: PLC0415, RUF100  (its own signal: it is imported)

    # its answer is not known yet
    setattr(Request.get_current().ctx, _ERROR, error)


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    async def sending(self: Any, *args: Any, **kwargs: Any) -> Any:
        # the last piece takes it away
        stream = safely(getattr, self, "stream")
        try:
            return await send(self, *args, **kwargs)
        finally:
            if stream is not None:
                safely(_end_with_last, stream, self, args, kwargs)

    return sending


def _end_with_last(stream: Any, response: Any, args: Args, kwargs: Kwargs) -> None:
    data, end_stream = argument(args, kwargs, 0, "data"), argument(args, kwargs, 1, "end_stream")
    if not end_stream and (end_stream is not None or data is not None):
        return
    context = stream.request.ctx
    error: BaseException | None = context.__dict__.pop(_ERROR, None)
    request: PendingRequest | None = getattr(context, _REQUEST, None)
    if request is not None:
        if error is not None:
            note_error(request, error, response.status)
        end_request(request, response.status)
    elif error is not None:
        # under a server of ASGI
        note_answered(error, response.status)


INSTRUMENTATION = Instrumentation(
    name="sanic",
    module="sanic.app",
    also=("sanic.response.types", "sanic.worker.manager"),
    hook=_hook,
    versions=">=23,<27",
    plugins=("sw_sanic_v2",),
)
