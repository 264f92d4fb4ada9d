"""requests: `Session.send`, which calls itself again for each redirect: the outermost has the span.

The requests of one call, redirects and the second one of a digest login, are made from each other's headers. The span
ends with the body; one that the application streams is done with when urllib3 gets its connection back.
"""

from __future__ import annotations

from typing import Any

from ....record.trace.model import Component
from ....record.trace.outcome import count_as_timeout
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import outer_call, safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...showing import showing
from ...wrapping import around_call
from .http_call import begin_http_call, carry, note_status, split
from .urllib3 import answered, watch_bodies


def _hook(module: Any, patches: Patches) -> None:
    from urllib3 import response  # noqa: PLC0415, RUF100  (requests has imported it)

    patches.wrap(module.Session, "send", around_call(*showing(patches.listeners, _begin, _request_of, _answered)))
    watch_bodies(response, patches)
    patches.on_undo(count_as_timeout(module.Timeout))


def _begin(_: object, args: Args, kwargs: Kwargs) -> Span | None:
    request = argument(args, kwargs, 0, "request")
    url, span = split(request.url), None
    host = url.hostname or ""
    if host and outer_call() is None:
        span = begin_http_call(request.method, url.scheme, host, url.port, url.path, Component.REQUESTS)
    if request.headers is not None:
        safely(carry, span, url.scheme, host, url.port, request.headers)
    return span


def _request_of(_: object, args: Args, kwargs: Kwargs) -> Any:
    return argument(args, kwargs, 0, "request")


def _answered(span: Span, response: Any, session: Any, _: Args, kwargs: Kwargs) -> None:
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
    shows_calls=True,
)
