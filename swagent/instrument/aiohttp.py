"""aiohttp's client: `ClientSession._request`, which all calls of every session come through, redirects and retries of
one included, and `_ws_connect`, the handshake of a websocket.

A session's own trace configs would cost more: they are asked at a dozen places of each call. The span ends with the
body, which is mostly still to come when the application has got the response, and is not active while it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.trace.model import Component
from ..record.trace.span import Span
from .call import end_call, outer_call, safely
from .http_call import begin_http_call, ending_body, leave_open, note_status, peer_of, propagate
from .instrumentation import Instrumentation
from .patches import Patches
from .wrapping import await_in

_SWITCHING_PROTOCOLS = 101
# to a proxy: what goes through its tunnel carries the context
_CONNECT = "CONNECT"


def _hook(module: Any, patches: Patches) -> None:
    patches.wrap(module.ClientSession, "_request", _around_request)
    patches.wrap(module.ClientSession, "_ws_connect", _around_ws_connect)
    patches.wrap(module.ClientRequest, "send", _around_send)
    patches.wrap(module.ClientResponse, "release", ending_body)
    patches.wrap(module.ClientResponse, "close", ending_body)


def _around_request(request: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, method: str, str_or_url: Any, **kwargs: Any) -> Any:
        span = safely(_begin, self, method, str_or_url)
        return await await_in(span, _answered, _failed, request, self, method, str_or_url, **kwargs)

    return traced


def _around_ws_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, url: Any, **kwargs: Any) -> Any:
        span = safely(_begin, self, kwargs.get("method", "GET"), url)
        return await await_in(span, _switched, _failed, connect, self, url, **kwargs)

    return traced


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    # not a coroutine function: what it returns is awaited just the same
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        safely(_propagate, self)
        return send(self, *args, **kwargs)

    return traced


def _begin(session: Any, method: str, str_or_url: Any) -> Span | None:
    try:
        url = session._build_url(str_or_url)  # noqa: SLF001
    except (TypeError, ValueError):
        return None  # the call will say so itself
    if not url.host:
        return None
    return begin_http_call(method.upper(), url.scheme, url.host, url.port, url.path, Component.AIOHTTP)


def _propagate(request: Any) -> None:
    span = outer_call()
    if span is not None and request.method != _CONNECT:
        url = request.url
        propagate(span, peer_of(url.scheme, url.host, url.port), request.headers)


def _answered(span: Span, response: Any) -> None:
    note_status(span, response.status)
    if response.closed or response.content.is_eof():
        span.stop()
    else:
        leave_open(span, response)
        response.content.on_eof(span.stop)


def _switched(span: Span, _: object) -> None:
    note_status(span, _SWITCHING_PROTOCOLS)
    span.stop()


def _failed(span: Span, error: BaseException) -> None:
    """A status that an exception tells of, with `raise_for_status` or of a handshake that was refused."""
    status = getattr(error, "status", None)
    if isinstance(status, int) and status > 0:
        note_status(span, status)
    end_call(span, error)


INSTRUMENTATION = Instrumentation(
    name="aiohttp",
    module="aiohttp.client",
    hook=_hook,
    versions=">=3.8.6,<4",
    plugins=("sw_aiohttp",),
    opentelemetry=("aiohttp-client",),
)
