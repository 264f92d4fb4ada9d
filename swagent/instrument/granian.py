"""granian: the application where a worker hands it to the server, by ASGI and WSGI, and the process that starts the
workers. Its own interface, RSGI, is not recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .instrumentation import Instrumentation
from .patches import Patches
from .serving import holding_back, wrap_asgi, wrap_wsgi


def _hook(module: Any, patches: Patches) -> None:
    wrapped: dict[int, Any] = {}

    def wrap_once(app: Any) -> Any:
        # the lifespan and the requests are handed over one after the other, and belong to one middleware
        return wrapped.setdefault(id(app), wrap_asgi(app))

    patches.wrap(module, "LifespanProtocol", _wrapping(wrap_once))
    patches.wrap(module, "_asgi_call_wrap", _wrapping(wrap_once))
    patches.wrap(module, "_wsgi_call_wrap", _wrapping(wrap_wsgi))
    if module.__name__ == "granian.server.mp":
        patches.wrap(module.MPServer, "serve", holding_back)


def _wrapping(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    def around(take: Callable[..., Any]) -> Callable[..., Any]:
        def taking(app: Any, *args: Any, **kwargs: Any) -> Any:
            return take(wrap(app), *args, **kwargs)

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
