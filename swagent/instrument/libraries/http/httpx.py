"""httpx and httpx2: `Client.send` and `AsyncClient.send`. All calls come through these, redirects and retries of one
call included.

The span ends with the response's head, or with its body where that is streamed: then it is open while the application
reads, and no longer the active one. The context's headers are written anew for a redirect, which may lead to another
host.
"""

from __future__ import annotations

from typing import Any

from ....acceleration import native
from ....record.bounded_cache import BoundedCache
from ....record.trace.model import Component, Layer
from ....record.trace.outcome import count_as_timeout
from ....record.trace.span import Span
from ....request.description import STATUSES, Tag
from ...arguments import Args, Kwargs
from ...call import note_failure
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches, home_of
from ...settings import current
from ...showing import showing
from ...wrapping import Begin, Finish, around_call
from .http_call import (
    begin_http_call,
    carry,
    describe,
    ending_body,
    leave_open,
    note_status,
    peer_of,
)
from .http_pools import watch_httpcore
from .httpx_headers import looking_for_cookies, write_fields

_COMPONENT = Component.HTTPX
_REDIRECT = "_build_redirect_request"
_POOLS = frozenset({"httpcore", "httpcore2"})
# of a URL, as httpx keeps them: those that C reads
_PARTS = ("scheme", "userinfo", "host", "port", "path")


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ in _POOLS:
        watch_httpcore(patches, module)
        return
    begin, answered = _ends_of_calls(module)
    for client in (module.Client, module.AsyncClient):
        patches.wrap(client, "send", around_call(*showing(patches.listeners, begin, _request_of, answered)))
    for client in {home_of(each, _REDIRECT) for each in (module.Client, module.AsyncClient)}:
        patches.wrap(client, _REDIRECT, after_call(_redirected))
    if module.__name__ == "httpx":
        patches.wrap(module.Cookies, "extract_cookies", looking_for_cookies)
    patches.wrap(module.Response, "close", ending_body)
    patches.wrap(module.Response, "aclose", ending_body)
    patches.on_undo(count_as_timeout(module.TimeoutException))


def _begin(_: object, args: Args, kwargs: Kwargs) -> Span | None:
    request = args[0] if args else kwargs["request"]
    url = request.url
    # each of these is a function of httpx's, so once only
    scheme, host, port = url.scheme, url.host, url.port
    span = begin_http_call(request.method, scheme, host, port, url.path, _COMPONENT)
    try:
        if span is None:
            carry(None, scheme, host, port, request.headers, write_fields)
        else:
            # as `carry`, without its calls
            write_fields(request.headers, span.headers_for(peer_of(scheme, host, port)))
    except BaseException as error:  # noqa: BLE001, RUF100  (the headers may be of the application's own class)
        try:
            note_failure(carry, error)
        except BaseException:
            # as the active one of this context it would swallow every call after it
            if span is not None:
                span.stop()
            raise
    return span


def _write_context(span: Span, request: Any) -> None:
    """As in `_begin`, of a call that has begun."""
    try:
        url = request.url
        write_fields(request.headers, span.headers_for(peer_of(url.scheme, url.host, url.port)))
    except BaseException as error:  # noqa: BLE001, RUF100  (as above)
        note_failure(carry, error)


def _request_of(_: object, args: Args, kwargs: Kwargs) -> Any:
    return args[0] if args else kwargs["request"]


def _redirected(_: object, request: Any, *__: object) -> None:
    url = request.url
    carry(None, url.scheme, url.host, url.port, request.headers, write_fields)


def _answered(span: Span, response: Any, *_: object) -> None:
    note_status(span, response.status_code)
    if response.is_closed:
        span.stop()
    else:
        leave_open(span, response)


def _place_of(key: tuple[str, str, str, int | None, str]) -> tuple[str, str, tuple[Tag, ...]]:
    method, scheme, host, port, path = key
    return describe(method, scheme, host, port, path, False)


_PLACES = BoundedCache(_place_of)


def _ends_of_calls(module: Any) -> tuple[Begin, Finish]:
    """How calls begin and end: those of httpx by C, where it keeps the parts of a URL as C knows them."""
    if native is None or module.__name__ != "httpx":
        return _begin, _answered
    parts: Any = getattr(module.URL("http://stock.test/orders"), "_uri_reference", None)
    if getattr(parts, "_fields", ())[: len(_PARTS)] != _PARTS:
        return _begin, _answered
    native.configure_requests(
        settings=current.__globals__, places=_PLACES, statuses=STATUSES, layer=Layer.HTTP, component=_COMPONENT,
        url_type=module.URL, reference_type=type(parts), begin=_begin, write=_write_context, end=_answered,
    )  # fmt: skip
    # what the log names, where one of them fails
    native.begin_request.__module__ = native.end_request.__module__ = __name__
    return native.begin_request, native.end_request


HTTPX = Instrumentation(
    name="httpx",
    module="httpx",
    hook=_hook,
    versions=">=0.23.3,<1",
    plugins=("sw_httpx",),
    also=("httpcore",),
    opentelemetry=("httpx",),
    shows_calls=True,
)
HTTPX2 = Instrumentation(
    name="httpx2",
    module="httpx2",
    hook=_hook,
    versions=">=2,<3",
    also=("httpcore2",),
    opentelemetry=("httpx2",),
    shows_calls=True,
)
