"""urllib.request: `OpenerDirector.open`, which calls itself again for a redirect: the outermost has the span. It ends
with the response's head."""

from __future__ import annotations

from typing import Any

from ....record.trace.model import Component
from ....record.trace.outcome import Outcome, outcome_of
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import end_call, outer_call
from ...instrumentation import STANDARD_LIBRARY, Instrumentation
from ...looking import before_call
from ...patches import Patches
from ...showing import showing
from ...wrapping import around_call
from .http_call import CONTEXT_HEADERS, begin_http_call, note_status, peer_of, split

_ERRORS = 400
_SCHEMES = ("http", "https")


def _hook(module: Any, patches: Patches) -> None:
    patches.wrap(
        module.OpenerDirector, "open", around_call(*showing(patches.listeners, _begin, _request_of, _answered), _failed)
    )
    patches.wrap(module.AbstractHTTPHandler, "do_open", before_call(_propagate))


def _begin(_: object, args: Args, kwargs: Kwargs) -> Span | None:
    fullurl, data = argument(args, kwargs, 0, "fullurl"), argument(args, kwargs, 1, "data")
    if isinstance(fullurl, str):
        method, url = "GET" if data is None else "POST", split(fullurl)
    else:
        url = split(fullurl.full_url)
        method = fullurl.get_method() if data is None or fullurl.data is not None else "POST"
    if url.scheme not in _SCHEMES or not url.hostname:
        return None
    return begin_http_call(method, url.scheme, url.hostname, url.port, url.path, Component.PYTHON)


def _request_of(_: object, args: Args, kwargs: Kwargs) -> Any:
    return argument(args, kwargs, 0, "fullurl")


def _propagate(_: object, args: Args, kwargs: Kwargs) -> None:
    span = outer_call()
    if span is None:
        return
    request = argument(args, kwargs, 1, "req")
    url = split(request.full_url)
    for name in CONTEXT_HEADERS:
        request.remove_header(name.capitalize())  # as it keeps them
    for name, value in span.headers_for(peer_of(url.scheme, url.hostname or "", url.port)).items():
        # a request that this one is redirected to does not take it over
        request.add_unredirected_header(name, value)


def _answered(span: Span, response: Any, *_: object) -> None:
    note_status(span, response.status)
    span.stop()


def _failed(span: Span, error: BaseException) -> None:
    """A status other than a good one is an exception here, and a timeout is another one's reason."""
    status, reason = getattr(error, "code", None), getattr(error, "reason", None)
    if isinstance(status, int) and status >= _ERRORS:
        note_status(span, status)
        span.stop()
        return
    timed_out = isinstance(reason, BaseException) and outcome_of(reason) is Outcome.TIMED_OUT
    end_call(span, reason if timed_out else error)


INSTRUMENTATION = Instrumentation(
    name="urllib-request",
    module="urllib.request",
    hook=_hook,
    distribution=STANDARD_LIBRARY,
    plugins=("sw_urllib_request",),
    opentelemetry=("urllib",),
    shows_calls=True,
)
