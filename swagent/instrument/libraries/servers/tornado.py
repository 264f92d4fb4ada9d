"""Tornado's server: `RequestHandler._execute`, in which a request is served, and the matchers that choose the handler:
they know the pattern, of which the request's name is made."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ....record.bounded_cache import remembered
from ....record.trace.model import Component
from ....request.pending import PendingRequest
from ...arguments import Args, Kwargs, argument
from ...call import safely
from ...instrumentation import Instrumentation
from ...looking import after_call, before_call
from ...patches import Patches
from .server_request import address_of, begin_request, end_request, note_error, note_route

_MATCHER = "_swagent_matcher"
_REQUEST = "_swagent_request"


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "tornado.routing":
        patches.wrap(module.PathMatches, "match", after_call(_note_match))
    else:
        patches.wrap(module.RequestHandler, "_execute", _around_execute)
        patches.wrap(module.RequestHandler, "log_exception", before_call(_note_exception))


def _note_match(matcher: Any, found: Any, args: Args, kwargs: Kwargs) -> None:
    if found is not None:
        # of routers inside each other the innermost matches last
        setattr(argument(args, kwargs, 0, "request"), _MATCHER, matcher)


def _around_execute(execute: Callable[..., Any]) -> Callable[..., Any]:
    async def executing(self: Any, *args: Any, **kwargs: Any) -> Any:
        request = safely(_begin, self)
        if request is None:
            return await execute(self, *args, **kwargs)
        try:
            return await execute(self, *args, **kwargs)
        except BaseException as error:
            safely(note_error, request, error, 0)
            raise
        finally:
            safely(_end, self, request)

    return executing


def _note_exception(handler: Any, args: Args, kwargs: Kwargs) -> None:
    # it hears of every exception that a handler leaves with
    request, error = getattr(handler, _REQUEST, None), argument(args, kwargs, 1, "value")
    if request is not None and error is not None:
        note_error(request, error, getattr(error, "status_code", 500))


def _begin(handler: Any) -> PendingRequest | None:
    asked = handler.request
    context = getattr(asked.connection, "context", None)
    client = address_of(getattr(context, "address", None)) or (asked.remote_ip, "")
    request = begin_request(
        Component.TORNADO, asked.method, asked.protocol, asked.path, asked.headers.get_all(), client, asked.query
    )
    if request is not None:
        matcher = getattr(asked, _MATCHER, None)
        note_route(request, None if matcher is None else template_of(matcher.regex))
        setattr(handler, _REQUEST, request)
    return request


def _end(handler: Any, request: PendingRequest) -> None:
    delattr(handler, _REQUEST)
    end_request(request, handler.get_status())


@remembered(1024)
def template_of(pattern: re.Pattern[str]) -> str:
    r"""The pattern of a path with `{name}` for its groups, as far as it has no group inside of another.

    >>> template_of(re.compile(r"/items/(?P<number>[0-9]+)/parts/(\w+)$"))
    '/items/{number}/parts/{}'
    """
    text = re.sub(r"\((?:\?P<(\w+)>)?[^()]*\)", lambda group: f"{{{group[1] or ''}}}", pattern.pattern)
    return re.sub(r"\\(\W)", r"\1", text.removeprefix("^").removesuffix("$"))


INSTRUMENTATION = Instrumentation(
    name="tornado",
    module="tornado.web",
    also=("tornado.routing",),
    hook=_hook,
    versions=">=6,<7",
    plugins=("sw_tornado",),
    opentelemetry=("tornado",),
)
