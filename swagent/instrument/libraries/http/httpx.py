"""httpx: `Client.send` and `AsyncClient.send`, which all its calls come through, redirects and retries of one included.

The span ends with the response's head, or with its body where that is streamed: then it is open while the application
reads, and no longer the active one. The context's headers are written anew for a redirect, which may lead to another
host.
"""

from __future__ import annotations

from typing import Any

from ....record.trace.model import Component
from ....record.trace.outcome import count_as_timeout
from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...call import safely
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches, home_of
from ...showing import showing
from ...wrapping import around_call
from .http_call import begin_http_call, carry, ending_body, leave_open, note_status

_REDIRECT = "_build_redirect_request"


def _hook(module: Any, patches: Patches) -> None:
    for client in (module.Client, module.AsyncClient):
        patches.wrap(client, "send", around_call(*showing(patches.listeners, _begin, _request_of, _answered)))
    for client in {home_of(each, _REDIRECT) for each in (module.Client, module.AsyncClient)}:
        patches.wrap(client, _REDIRECT, after_call(_redirected))
    patches.wrap(module.Response, "close", ending_body)
    patches.wrap(module.Response, "aclose", ending_body)
    patches.on_undo(count_as_timeout(module.TimeoutException))


def _begin(_: object, args: Args, kwargs: Kwargs) -> Span | None:
    request = args[0] if args else kwargs["request"]
    url = request.url
    span = begin_http_call(request.method, url.scheme, url.host, url.port, url.path, Component.HTTPX)
    safely(carry, span, url.scheme, url.host, url.port, request.headers)
    return span


def _request_of(_: object, args: Args, kwargs: Kwargs) -> Any:
    return args[0] if args else kwargs["request"]


def _redirected(_: object, request: Any, *__: object) -> None:
    url = request.url
    carry(None, url.scheme, url.host, url.port, request.headers)


def _answered(span: Span, response: Any, *_: object) -> None:
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
    shows_calls=True,
)
