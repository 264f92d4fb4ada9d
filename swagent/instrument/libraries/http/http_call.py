"""The span of an HTTP client's call, the same for every library.

Its name is the path, as the official agent has it, with what looks like an identifier taken out: the collector keeps
metrics for each name. Its URL has neither credentials nor a query. A library calls, in this order: `begin_http_call`,
`carry` for each request that goes out, `note_status`, and `end_call`; `leave_open` and `end_body` where the body of
the response is still to come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from ....record.bounded_cache import remembered
from ....record.limits import name_of, short
from ....record.trace.model import Layer
from ....record.trace.span import Span
from ....request.description import STATUSES, Tag
from ...address import place_of
from ...call import begin_call, end_call, error_since, handled_error, outer_call
from ...looking import at_end_of_call
from ...settings import current

Write = Callable[[Any, Mapping[str, str]], object]
"""Sets some headers, in the place of those that stood there."""

CONTEXT_HEADERS = ("sw8", "sw8-correlation", "traceparent", "tracestate")
"""The headers that `propagate` may write."""
_BODY = "_swagent_body"
_HTTP = Layer.HTTP
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
# A number, a UUID, a long hexadecimal number, or a long word with a digit in it.
_IDENTIFIER = re.compile(
    r"\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,}|(?=\D*\d)[\w-]{20,}",
    re.IGNORECASE | re.ASCII,
)


class _OpenBody(NamedTuple):
    """The open span that a response keeps while its body is still to come."""

    span: Span
    before: int
    """Which exception was being handled when it began."""

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # an application may pickle or copy its response: the span is this one's alone
        return type(None), ()


def begin_http_call(
    method: str, scheme: str, host: str, port: int | None, path: str, component: int
) -> Span | None:  # fmt: skip
    """Begin the span of a request. None: nothing is recorded here, or it is a part of another call.

    :param host: without port and credentials
    :param port: None: the scheme's own
    :param path: without query; empty counts as `/`
    """
    settings = current()
    if method in settings.http_ignored_methods:
        return None
    peer, name, tags = describe(method, scheme, host, port, path, settings.http_real_paths)
    return begin_call(name, peer, _HTTP, component, tags)


@remembered(1024)
def peer_of(scheme: str, host: str, port: int | None) -> str:
    """The address of a server, `host:port`."""
    return place_of(host, port or _DEFAULT_PORTS.get(scheme, 0))


def write_each(headers: MutableMapping[str, str], written: Mapping[str, str]) -> None:
    """Set some headers of the context in a mapping."""
    if "sw8" in headers:
        for name in CONTEXT_HEADERS:
            # those that are written again stay where they are: another thread may be sending the same headers
            if name not in written:
                headers.pop(name, None)
    if type(headers) is dict:
        headers.update(written)  # pyright: ignore[reportUnknownMemberType]
        return
    for name, value in written.items():
        headers[name] = value


def propagate(span: Span, peer: str, headers: Any, write: Write = write_each) -> None:
    """Write a span's context into the headers of a request, where its peer may get it. A header that was there goes: it
    is of the request before a redirect, or of a caller whose headers the application passes on.

    :param peer: the address that this request goes to, which after a redirect is not the span's own
    :param headers: a mapping, or what `write` takes
    """
    write(headers, span.headers_for(peer))


def carry(span: Span | None, scheme: str, host: str, port: int | None, headers: Any, write: Write = write_each) -> None:
    """Write the context of a call into the headers of a request: of this one, or of the one that it is a part of. Where
    there is neither, the headers stay as they are.

    :param host: to which the request goes, which after a redirect is not the call's first one
    :param headers: a mapping, or what `write` takes
    """
    span = span or outer_call()
    if span is not None:
        propagate(span, peer_of(scheme, host, port), headers, write)


def split(url: str) -> SplitResult:
    """The parts of a URL."""
    return urlsplit(url)


def note_status(span: Span, status: int) -> None:
    """Tag the answer's status. The caller's fault is an error here, too: it is the caller who is looked at."""
    span.tags.append(STATUSES[status])
    if status >= 400:
        span.error()


def leave_open(span: Span, response: Any) -> None:
    """Let a call's span last until `end_body` is called for its response, and be the active one no longer."""
    span.step_aside()
    response.__dict__[_BODY] = _OpenBody(span, handled_error())


def end_body(response: Any) -> None:
    """End the span of a call whose response has been read or closed; nothing, where it has ended. An error that breaks
    a body off is known by the exception that is being handled now, and was not when it began."""
    waiting: _OpenBody | None = response.__dict__.pop(_BODY, None)
    if waiting is not None:
        end_call(waiting.span, error_since(waiting.before))


@remembered(1024)
def describe(
    method: str, scheme: str, host: str, port: int | None, path: str, as_they_are: bool
) -> tuple[str, str, tuple[Tag, ...]]:
    """The peer, the name and the tags of a request. Remembered: most services call few places.

    :param as_they_are: whether the path is shown as it is, and the host without a port that is the scheme's own
    """
    path = path or "/"
    peer = peer_of(scheme, host, port)
    shown = peer if port and port != _DEFAULT_PORTS.get(scheme) else peer.rpartition(":")[0]
    template = path if as_they_are else template_of(path)
    url = short(f"{scheme}://{shown}{template}")
    return shown if as_they_are else peer, name_of(template), (("http.method", short(method)), ("http.url", url))


ending_body = at_end_of_call(end_body)
"""For `Patches.wrap`: a method that closes a response, or gives its connection back."""


def template_of(path: str) -> str:
    """A path with `{id}` for each part that looks like an identifier.

    >>> template_of("/orders/17/items/0a4d55a8-d778-4ee4-a4e8-1d8b4d2f6e8a")
    '/orders/{id}/items/{id}'
    """
    if path.isascii() and not any(map(str.isdigit, path)) and len(path) < 16:
        return path
    return "/".join("{id}" if _IDENTIFIER.fullmatch(part) else part for part in path.split("/"))
