"""granian: the application where a worker hands it to the server, by ASGI and WSGI, and the process that starts the
workers. Its own interface, RSGI, is not recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from .serving import holding_back, with_application, wrap_asgi, wrap_wsgi

_wrapped: dict[int, Any] = {}


def _hook(module: Any, patches: Patches) -> None:
    # a class, which is the same for processes and threads
    patches.wrap(module.LifespanProtocol, "__init__", _wrapping(_wrap_once, 1, "callable"))
    patches.wrap(module, "_asgi_call_wrap", _wrapping(_wrap_once, 0, "callback"))
    patches.wrap(module, "_wsgi_call_wrap", _wrapping(wrap_wsgi, 0, "callback"))
    if module.__name__ == "granian.server.mp":
        patches.wrap(module.MPServer, "serve", holding_back)


def _wrap_once(app: Any) -> Any:
    # the lifespan and the requests are handed over one after the other, and belong to one middleware
    return _wrapped.setdefault(id(app), wrap_asgi(app))


def _wrapping(wrap: Callable[[Any], Any], place: int, name: str) -> Callable[..., Any]:
    def around(take: Callable[..., Any]) -> Callable[..., Any]:
        def taking(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = safely(with_application, wrap, args, kwargs, place, name) or (args, kwargs)
            return take(*args, **kwargs)

        return taking

    return around


INSTRUMENTATION = Instrumentation(
    name="granian",
    module="granian.server.mp",
    also=("granian.server.mt",),
    hook=_hook,
    versions=">=2,<3",
    opentelemetry=("asgi",),
)
