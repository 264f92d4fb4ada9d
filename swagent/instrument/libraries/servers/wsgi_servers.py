"""The servers of development: werkzeug's, which is Flask's own, and the standard library's, which is Django's."""

from __future__ import annotations

from typing import Any

from ....hosting.late_start import start_now
from ...instrumentation import STANDARD_LIBRARY, Instrumentation
from ...looking import after_call, before_call
from ...patches import Patches
from .serving import holding_back, wrap_wsgi, wrap_wsgi_for_later, wrapping


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
    patches.wrap(module.WSGIServer, "set_app", wrapping(wrap_wsgi, 1, "application"))


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
