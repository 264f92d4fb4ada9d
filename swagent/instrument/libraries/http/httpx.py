"""httpx: `Client.send` and `AsyncClient.send`, which all its calls come through, redirects and retries of one included.

The span ends with the response's head, or with its body where that is streamed: then it is open while the application
reads, and no longer the active one. The context's headers are written anew for a redirect, which may lead to another
host.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from ....record.trace.model import Component
from ....record.trace.outcome import count_as_timeout
from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...call import note_failure
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches, home_of
from ...showing import showing
from ...wrapping import around_call
from .http_call import CONTEXT_HEADERS, begin_http_call, carry, ending_body, leave_open, note_status, write_each
from .http_pools import watch_httpcore

_COMPONENT = Component.HTTPX
_FIELDS = {name: name.encode("ascii") for name in CONTEXT_HEADERS}
_NAMES = frozenset(_FIELDS.values())
_name_of = itemgetter(1)
_REDIRECT = "_build_redirect_request"
_POOLS = "httpcore"


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _POOLS:
        watch_httpcore(patches, module)
        return
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
    # each of these is a function of httpx's, so once only
    scheme, host, port = url.scheme, url.host, url.port
    span = begin_http_call(request.method, scheme, host, port, url.path, _COMPONENT)
    try:
        carry(span, scheme, host, port, request.headers, _write)
    except BaseException as error:  # noqa: BLE001, RUF100  (the headers may be of the application's own class)
        note_failure(carry, error)
    return span


def _request_of(_: object, args: Args, kwargs: Kwargs) -> Any:
    return args[0] if args else kwargs["request"]


def _redirected(_: object, request: Any, *__: object) -> None:
    url = request.url
    carry(None, url.scheme, url.host, url.port, request.headers, _write)


def _write(headers: Any, written: Mapping[str, str]) -> None:
    """Set the headers of the context. By `headers[name] = value` httpx goes through all of them for each one, and by
    `name in headers` it settles on an encoding, so that the application could not set every text any more."""
    fields: list[tuple[bytes, bytes, bytes]] | None = getattr(headers, "_list", None)
    if type(fields) is not list:
        write_each(headers, written)  # a mapping that the application has put there
        return
    # by functions of C, since this is in each call
    if not _NAMES.isdisjoint(map(_name_of, fields)):
        is_ours = any(name == b"sw8" for _, name, _ in fields)
        gone = _NAMES if is_ours else {_FIELDS[name] for name in written}
        fields[:] = [each for each in fields if each[1] not in gone]
    for name, value in written.items():
        field = _FIELDS[name]
        fields.append((field, field, value.encode()))


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
    also=(_POOLS,),
    opentelemetry=("httpx",),
    shows_calls=True,
)
