"""The servers of development: werkzeug's, which is Flask's own, and the standard library's, which is Django's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime.late_start import start_now
from .instrumentation import STANDARD_LIBRARY, Instrumentation
from .patches import Patches
from .serving import holding_back, wrap_wsgi, wrap_wsgi_for_later


def _hook_werkzeug(module: Any, patches: Patches) -> None:
    if module.__name__ == "werkzeug._reloader":
        # the process that starts another one again and again, in which the server runs
        patches.wrap(module.ReloaderLoop, "restart_with_reloader", holding_back)
    else:
        patches.wrap(module.BaseWSGIServer, "__init__", _around_making)
        patches.wrap(module.BaseWSGIServer, "serve_forever", _around_serving)


def _around_making(initialise: Callable[..., None]) -> Callable[..., None]:
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        # before a reloader starts another process, which serves
        self.app = wrap_wsgi_for_later(self.app)

    return make


def _around_serving(serve: Callable[..., Any]) -> Callable[..., Any]:
    def serving(self: Any, *args: Any, **kwargs: Any) -> Any:
        start_now()
        return serve(self, *args, **kwargs)

    return serving


def _hook_wsgiref(module: Any, patches: Patches) -> None:
    patches.wrap(module.WSGIServer, "set_app", _around_set_app)


def _around_set_app(set_app: Callable[..., None]) -> Callable[..., None]:
    def setting(self: Any, app: Any) -> None:
        set_app(self, wrap_wsgi(app))

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
