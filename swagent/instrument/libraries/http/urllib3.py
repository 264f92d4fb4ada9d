"""urllib3: `PoolManager.urlopen`, and a pool's own for those who use one without a manager.

Both call themselves again for a retry and a redirect, and the manager's calls the pool's: the outermost has the span.
The context's headers are written by the pool's, which knows the peer, into a copy.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, NamedTuple

from ....record.trace.model import Component
from ....record.trace.outcome import Outcome, count_as_timeout, outcome_of
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import end_call, outer_call
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...showing import showing
from ...wrapping import around_call
from .http_call import begin_http_call, ending_body, leave_open, note_status, peer_of, propagate, split

_URLLIB3 = Component.URLLIB3
_HEADERS = 3  # their place among the arguments of a pool's `urlopen`


class Request(NamedTuple):
    """A request, as `on_request` sees it, since urllib3 has no object for one."""

    method: str
    url: str
    """Of a pool's own call without scheme and host, which are the pool's."""
    headers: Any
    """None: those of the pool."""
    body: Any


def _hook(module: Any, patches: Patches) -> None:
    seen = patches.listeners
    patches.wrap(
        module.PoolManager, "urlopen", around_call(*showing(seen, _begin, _request_of_manager, _answered), _failed)
    )
    in_pool = around_call(*showing(seen, _begin_in_pool, _request_of_pool, _answered), _failed, _with_context)
    patches.wrap(module.HTTPConnectionPool, "urlopen", in_pool)
    watch_bodies(module.response, patches)
    patches.on_undo(count_as_timeout(*timeouts_of(module.exceptions)))


def watch_bodies(module: Any, patches: Patches) -> None:
    """Have `end_body` asked about each response that gives its connection back, or is closed.

    :param module: `urllib3.response`
    """
    patches.wrap(module.HTTPResponse, "release_conn", ending_body)
    patches.wrap(module.HTTPResponse, "close", ending_body)


def timeouts_of(module: Any) -> tuple[type[BaseException], ...]:
    """Its timeouts. Version 1 counts a refused connection as one.

    :param module: `urllib3.exceptions`
    """
    kinds: tuple[type[BaseException], ...] = (module.ReadTimeoutError, module.ConnectTimeoutError)
    return tuple(kind for kind in kinds if not issubclass(module.NewConnectionError, kind))


def answered(span: Span, status: int, response: Any) -> None:
    """Note what came back, and end the span, or leave it open while the body holds the connection.

    :param response: of urllib3, or of another class that looks like it
    """
    note_status(span, status)
    if getattr(response, "connection", None) is None:
        span.stop()
    else:
        leave_open(span, response)


def _begin(_: object, args: Args, kwargs: Kwargs) -> Span | None:
    if outer_call() is not None:
        return None
    method, url = argument(args, kwargs, 0, "method"), argument(args, kwargs, 1, "url")
    parts = split(url)
    if not parts.hostname:
        return None
    return begin_http_call(method.upper(), parts.scheme, parts.hostname, parts.port, parts.path, _URLLIB3)


def _begin_in_pool(pool: Any, args: Args, kwargs: Kwargs) -> Span | None:
    if outer_call() is not None:
        return None
    method, url = argument(args, kwargs, 0, "method"), argument(args, kwargs, 1, "url")
    return begin_http_call(method.upper(), *_place(pool, url), split(url).path, _URLLIB3)


def _request_of_manager(_: object, args: Args, kwargs: Kwargs) -> Request:
    method, url = argument(args, kwargs, 0, "method"), argument(args, kwargs, 1, "url")
    return Request(method, url, kwargs.get("headers"), kwargs.get("body"))


def _request_of_pool(_: object, args: Args, kwargs: Kwargs) -> Request:
    method, url = argument(args, kwargs, 0, "method"), argument(args, kwargs, 1, "url")
    return Request(method, url, argument(args, kwargs, _HEADERS, "headers"), argument(args, kwargs, 2, "body"))


def _with_context(_: object, pool: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with the headers to send, where there is something to change."""
    span = outer_call()
    if span is None:
        return args, kwargs
    url, headers = argument(args, kwargs, 1, "url"), argument(args, kwargs, _HEADERS, "headers")
    headers = pool.headers if headers is None else headers
    if span.component == Component.REQUESTS and "sw8" in headers:
        return args, kwargs  # which has written them
    copied: MutableMapping[str, str] = headers.copy()
    propagate(span, peer_of(*_place(pool, url)), copied)
    return with_argument(args, kwargs, _HEADERS, "headers", copied)


def _place(pool: Any, url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of the peer. The pool is the proxy's where the URL has a host."""
    if not url.startswith("/"):
        parts = split(url)
        if parts.hostname:
            return parts.scheme, parts.hostname, parts.port
    return pool.scheme, pool.host, pool.port


def _answered(span: Span, response: Any, *_: object) -> None:
    answered(span, response.status, response)


def _failed(span: Span, error: BaseException) -> None:
    """End a call that has no try left: its exception has the cause of the last one."""
    reason = getattr(error, "reason", None)
    timed_out = isinstance(reason, BaseException) and outcome_of(reason) is Outcome.TIMED_OUT
    end_call(span, reason if timed_out else error)


INSTRUMENTATION = Instrumentation(
    name="urllib3",
    module="urllib3",
    hook=_hook,
    versions=">=1.26,<3",
    plugins=("sw_urllib3", "sw_urllib3_v2"),
    opentelemetry=("urllib3",),
    shows_calls=True,
)
