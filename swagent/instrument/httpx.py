"""httpx: `Client.send` and `AsyncClient.send`, which all its calls come through, redirects and retries of one included.

The span ends with the response's head, or with its body where that is streamed: then it is open while the application
reads, and no longer the active one. The context's headers are written anew for a redirect, which may lead to another
host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.trace.model import Component
from ..record.trace.outcome import count_as_timeout
from ..record.trace.span import Span
from .call import end_call, outer_call, safely
from .http_call import begin_http_call, end_body, ending_body, leave_open, note_status, peer_of, propagate
from .instrumentation import Instrumentation
from .patches import Patches
from .wrapping import await_in, call_in


def _hook(module: Any, patches: Patches) -> None:
    patches.wrap(module.Client, "send", _around_send)
    patches.wrap(module.AsyncClient, "send", _around_async_send)
    for client in (module.Client, module.AsyncClient):
        patches.wrap(client, "_build_redirect_request", _around_redirect)
    patches.wrap(module.Response, "close", ending_body)
    patches.wrap(module.Response, "aclose", _around_aclose)
    patches.on_undo(count_as_timeout(module.TimeoutException))


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin, request)
        return call_in(span, _answered, end_call, send, self, request, *args, **kwargs)

    return traced


def _around_async_send(send: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin, request)
        return await await_in(span, _answered, end_call, send, self, request, *args, **kwargs)

    return traced


def _around_redirect(build: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        request = build(self, *args, **kwargs)
        safely(_propagate, outer_call(), request)
        return request

    return traced


def _around_aclose(aclose: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any) -> None:
        try:
            await aclose(self)
        finally:
            safely(end_body, self)

    return traced


def _begin(request: Any) -> Span | None:
    url = request.url
    span = begin_http_call(request.method, url.scheme, url.host, url.port, url.path, Component.HTTPX)
    safely(_propagate, span or outer_call(), request)
    return span


def _propagate(span: Span | None, request: Any) -> None:
    """Write the context of a call, this one or the one that it is a part of."""
    if span is not None:
        url = request.url
        propagate(span, peer_of(url.scheme, url.host, url.port), request.headers)


def _answered(span: Span, response: Any) -> None:
    note_status(span, response.status_code)
    if response.is_closed:
        span.stop()
    else:
        leave_open(span, response)


INSTRUMENTATION = Instrumentation(
    name="httpx",
    module="httpx",
    hook=_hook,
    versions=">=0.23.3,<1",
    plugins=("sw_httpx",),
    opentelemetry=("httpx",),
)
