"""The servers of development: werkzeug's, which is Flask's own, and the standard library's, which is Django's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....runtime.late_start import start_now
from ...call import safely
from ...instrumentation import STANDARD_LIBRARY, Instrumentation
from ...patches import Patches
from ...wrapping import after_call, before_call
from .serving import holding_back, with_application, wrap_wsgi, wrap_wsgi_for_later


def _hook_werkzeug(module: Any, patches: Patches) -> None:
    if module.__name__ == "werkzeug._reloader":
        # the process that starts another one again and again, in which the server runs
        patches.wrap(module.ReloaderLoop, "restart_with_reloader", holding_back)
    else:
        patches.wrap(module.BaseWSGIServer, "__init__", after_call(_wrap_made))
        patches.wrap(module.BaseWSGIServer, "serve_forever", before_call(_start))


def _wrap_made(server: Any, *_: object) -> None:
    # before a reloader starts another process, which serves
    server.app = wrap_wsgi_for_later(server.app)


def _start(*_: object) -> None:
    start_now()


def _hook_wsgiref(module: Any, patches: Patches) -> None:
    patches.wrap(module.WSGIServer, "set_app", _around_set_app)


def _around_set_app(set_app: Callable[..., Any]) -> Callable[..., Any]:
    def setting(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = safely(with_application, wrap_wsgi, args, kwargs, 0, "application") or (args, kwargs)
        return set_app(self, *args, **kwargs)

    return setting


INSTRUMENTATIONS = (
    Instrumentation(
        name="werkzeug",
        module="werkzeug.serving",
        also=("werkzeug._reloader",),
        hook=_hook_werkzeug,
        versions=">=2,<4",
        opentelemetry=("wsgi",),
    ),
    Instrumentation(
        name="wsgiref",
        module="wsgiref.simple_server",
        hook=_hook_wsgiref,
        distribution=STANDARD_LIBRARY,
        opentelemetry=("wsgi",),
    ),
)
