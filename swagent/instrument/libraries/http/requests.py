"""requests: `Session.send`, which calls itself again for each redirect: the outermost has the span.

The requests of one call, redirects and the second one of a digest login, are made from each other's headers. The span
ends with the body; one that the application streams is done with when urllib3 gets its connection back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....record.trace.model import Component
from ....record.trace.outcome import count_as_timeout
from ....record.trace.span import Span
from ...arguments import Kwargs, argument
from ...call import end_call, outer_call, safely, settle
from ...instrumentation import Instrumentation
from ...patches import Patches
from .http_call import begin_http_call, note_status, peer_of, propagate, split
from .urllib3 import answered, watch_bodies


def _hook(module: Any, patches: Patches) -> None:
    from urllib3 import response  # noqa: PLC0415, RUF100  (requests has imported it)

    patches.wrap(module.Session, "send", _around_send)
    watch_bodies(response, patches)
    patches.on_undo(count_as_timeout(module.Timeout))


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        request = argument(args, kwargs, 0, "request")
        span = safely(_begin, request)
        safely(_propagate, request)
        if span is None:
            return send(self, *args, **kwargs)
        try:
            response = send(self, *args, **kwargs)
        except BaseException as error:
            settle(end_call, span, error)
            raise
        settle(_answered, span, response, self, kwargs)
        return response

    return traced


def _begin(request: Any) -> Span | None:
    if outer_call() is not None:
        return None
    url = split(request.url)
    if not url.hostname:
        return None
    return begin_http_call(request.method, url.scheme, url.hostname, url.port, url.path, Component.REQUESTS)


def _propagate(request: Any) -> None:
    span = outer_call()
    if span is not None and request.headers is not None:
        url = split(request.url)
        propagate(span, peer_of(url.scheme, url.hostname or "", url.port), request.headers)


def _answered(span: Span, response: Any, session: Any, kwargs: Kwargs) -> None:
    if kwargs.get("stream", session.stream):
        answered(span, response.status_code, response.raw)
    else:
        note_status(span, response.status_code)
        span.stop()


INSTRUMENTATION = Instrumentation(
    name="requests",
    module="requests",
    hook=_hook,
    versions=">=2.28,<3",
    plugins=("sw_requests",),
    opentelemetry=("requests",),
)
