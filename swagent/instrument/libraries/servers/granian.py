"""granian: the application where a worker hands it to the server, by ASGI, WSGI and its own RSGI, and the process that
starts the workers."""

from __future__ import annotations

from typing import Any

from ...instrumentation import Instrumentation
from ...patches import Patches
from .rsgi import wrap_rsgi
from .serving import holding_back, wrap_asgi, wrap_wsgi, wrapping

_wrapped: dict[int, Any] = {}


def _hook(module: Any, patches: Patches) -> None:
    # a class, which is the same for processes and threads
    patches.wrap(module.LifespanProtocol, "__init__", wrapping(_wrap_once, 1, "callable"))
    patches.wrap(module, "_asgi_call_wrap", wrapping(_wrap_once, 0, "callback"))
    patches.wrap(module, "_wsgi_call_wrap", wrapping(wrap_wsgi, 0, "callback"))
    patches.wrap(module, "_rsgi_call_wrap", wrapping(wrap_rsgi, 0, "callback"))
    if module.__name__ == "granian.server.mp":
        patches.wrap(module.MPServer, "serve", holding_back)


def _wrap_once(app: Any) -> Any:
    # the lifespan and the requests are handed over one after the other, and belong to one middleware
    return _wrapped.setdefault(id(app), wrap_asgi(app))


INSTRUMENTATION = Instrumentation(
    name="granian",
    module="granian.server.mp",
    also=("granian.server.mt",),
    hook=_hook,
    versions=">=2,<3",
    opentelemetry=("asgi",),
)
