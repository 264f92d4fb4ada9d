"""aiohttp's client: `ClientSession._request`, which all calls of every session come through, redirects and retries of
one included, and `_ws_connect`, the handshake of a websocket.

A session's own trace configs would cost more: they are asked at a dozen places of each call. The span ends with the
body, which is mostly still to come when the application has got the response, and is not active while it is read.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ....record.trace.model import Component
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import end_call, outer_call
from ...instrumentation import Instrumentation
from ...listeners import Listener
from ...looking import Look, before_call
from ...patches import Patches
from ...showing import showing_response
from ...wrapping import around_call
from .http_call import begin_http_call, carry, ending_body, leave_open, note_status
from .http_pools import watch_aiohttp

_SWITCHING_PROTOCOLS = 101
# to a proxy: what goes through its tunnel carries the context
_CONNECT = "CONNECT"


def _hook(module: Any, patches: Patches) -> None:
    answered = showing_response(patches.listeners.on_response, _answered)
    patches.wrap(module.ClientSession, "_request", around_call(_begin_request, answered, _failed))
    patches.wrap(module.ClientSession, "_ws_connect", around_call(_begin_ws_connect, _switched, _failed))
    patches.wrap(module.ClientRequest, "send", before_call(_sending(patches.listeners.on_request)))
    patches.wrap(module.ClientResponse, "release", ending_body)
    patches.wrap(module.ClientResponse, "close", ending_body)
    watch_aiohttp(patches, import_module("aiohttp.connector").BaseConnector)


def _begin_request(session: Any, args: Args, kwargs: Kwargs) -> Span | None:
    return _begin(session, argument(args, kwargs, 0, "method"), argument(args, kwargs, 1, "str_or_url"))


def _begin_ws_connect(session: Any, args: Args, kwargs: Kwargs) -> Span | None:
    return _begin(session, kwargs.get("method", "GET"), argument(args, kwargs, 0, "url"))


def _begin(session: Any, method: str, str_or_url: Any) -> Span | None:
    try:
        url = session._build_url(str_or_url)  # noqa: SLF001
    except (TypeError, ValueError):
        return None  # the call will say so itself
    if not url.host:
        return None
    return begin_http_call(method.upper(), url.scheme, url.host, url.port, url.path, Component.AIOHTTP)


def _propagate(request: Any, *_: object) -> None:
    if request.method != _CONNECT:
        url = request.url
        carry(None, url.scheme, url.host, url.port, request.headers)


def _sending(listener: Listener | None) -> Look:
    """The function that is called for each request that goes out."""
    if listener is None:
        return _propagate

    def propagate_and_show(request: Any, *_: object) -> None:
        _propagate(request)
        span = outer_call()
        if span is not None and span.component == Component.AIOHTTP:
            listener.show(span, lambda: request)

    return propagate_and_show


def _answered(span: Span, response: Any, *_: object) -> None:
    note_status(span, response.status)
    if response.closed or response.content.is_eof():
        span.stop()
    else:
        leave_open(span, response)
        response.content.on_eof(span.stop)


def _switched(span: Span, *_: object) -> None:
    note_status(span, _SWITCHING_PROTOCOLS)
    span.stop()


def _failed(span: Span, error: BaseException) -> None:
    """A status that an exception carries, with `raise_for_status` or of a handshake that was refused."""
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
    shows_calls=True,
)
