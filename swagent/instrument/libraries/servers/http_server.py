"""The standard library's `http.server`: the request that a handler has read, until it is answered.

Servers of WSGI applications are made of it as well. They have hooks of their own, and are left alone here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....record.trace.context import current, switch
from ....record.trace.model import Component
from ...arguments import Args, Kwargs, argument
from ...call import safely
from ...instrumentation import STANDARD_LIBRARY, Instrumentation
from ...looking import after_call, before_call
from ...patches import Patches
from .server_request import address_of, begin_request, end_request, note_error

_REQUEST = "_swagent_request"
_STATUS = "_swagent_status"


def _hook(module: Any, patches: Patches) -> None:
    handler = module.BaseHTTPRequestHandler
    patches.wrap(handler, "handle_one_request", _around_handling)
    patches.wrap(handler, "parse_request", after_call(_begin_parsed))
    patches.wrap(handler, "send_response_only", before_call(_note_status))


def _around_handling(handle: Callable[..., Any]) -> Callable[..., Any]:
    def handling(self: Any, *args: Any, **kwargs: Any) -> Any:
        outside = current.get()
        safely(setattr, self, _REQUEST, None)
        try:
            return handle(self, *args, **kwargs)
        except BaseException as error:
            safely(_fail, self, error)
            raise
        finally:
            safely(_end, self)
            # the thread may serve another connection next
            switch(current, outside)

    return handling


def _begin_parsed(handler: Any, is_read: Any, *_: object) -> None:
    # only inside of our `handle_one_request`: those who have one of their own serve WSGI
    if is_read and _REQUEST in handler.__dict__ and not hasattr(handler, "run_wsgi"):
        _begin(handler)


def _note_status(handler: Any, args: Args, kwargs: Kwargs) -> None:
    setattr(handler, _STATUS, int(argument(args, kwargs, 0, "code")))


def _begin(handler: Any) -> None:
    setattr(handler, _STATUS, 0)
    path, _, query = handler.path.partition("?")
    request = begin_request(
        Component.PYTHON, handler.command, "http", path, handler.headers.items(),
        address_of(handler.client_address), query,
    )  # fmt: skip
    setattr(handler, _REQUEST, request)


def _fail(handler: Any, error: BaseException) -> None:
    request = getattr(handler, _REQUEST, None)
    if request is not None:
        note_error(request, error, 0)


def _end(handler: Any) -> None:
    request = handler.__dict__.pop(_REQUEST, None)
    if request is not None:
        end_request(request, getattr(handler, _STATUS, 0))


INSTRUMENTATION = Instrumentation(
    name="http_server",
    module="http.server",
    hook=_hook,
    distribution=STANDARD_LIBRARY,
    plugins=("sw_http_server",),
)
