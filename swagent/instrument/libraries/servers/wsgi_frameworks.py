"""Flask, Django, Falcon, Bottle and Pyramid: the one function through which a server calls their applications.

Which server that is does not matter then: waitress, uWSGI and mod_wsgi have no hooks of their own. Where the server's
hook was there first, the request has its span already.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ....wsgi import SkyWalkingMiddleware
from ...arguments import argument
from ...instrumentation import Instrumentation
from ...patches import Patches
from .serving import holding_back


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "django.utils.autoreload":
        # the process that starts another one again and again, in which the server runs
        patches.wrap(module, "restart_with_reloader", holding_back)
    else:
        patches.wrap(getattr(module, _APPLICATIONS[module.__name__]), "__call__", _around_call)


_ARGUMENTS = 2


def _around_call(call: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    # of all applications of the framework
    middleware = SkyWalkingMiddleware(call)
    # as the framework calls them: falcon has `env`
    _, environ_name, start_name, *_ = inspect.signature(call).parameters

    def called(self: Any, *args: Any, **kwargs: Any) -> Iterable[bytes]:
        environ: Any = argument(args, kwargs, 0, environ_name)
        start_response = argument(args, kwargs, 1, start_name)
        if not issubclass(type(environ), dict) or start_response is None or len(args) + len(kwargs) > _ARGUMENTS:
            return call(self, *args, **kwargs)
        return middleware.serve(partial(call, self), environ, start_response)

    return called


_APPLICATIONS = {
    "flask.app": "Flask",
    "django.core.handlers.wsgi": "WSGIHandler",
    "falcon.app": "App",
    "bottle": "Bottle",
    "pyramid.router": "Router",
}

INSTRUMENTATIONS = (
    Instrumentation(
        name="flask",
        module="flask.app",
        hook=_hook,
        versions=">=2,<4",
        plugins=("sw_flask",),
        opentelemetry=("flask", "wsgi"),
    ),
    Instrumentation(
        name="django",
        module="django.core.handlers.wsgi",
        also=("django.utils.autoreload",),
        hook=_hook,
        versions=">=4,<7",
        plugins=("sw_django",),
        opentelemetry=("django",),
    ),
    Instrumentation(
        name="falcon",
        module="falcon.app",
        hook=_hook,
        versions=">=3,<5",
        plugins=("sw_falcon", "sw_falcon_v3"),
        opentelemetry=("falcon",),
    ),
    Instrumentation(
        name="bottle",
        module="bottle",
        hook=_hook,
        versions=">=0.12,<0.14",
        plugins=("sw_bottle",),
        opentelemetry=("bottle",),
    ),
    Instrumentation(
        name="pyramid",
        module="pyramid.router",
        hook=_hook,
        versions=">=1.10,<3",
        plugins=("sw_pyramid",),
        opentelemetry=("pyramid",),
    ),
)
