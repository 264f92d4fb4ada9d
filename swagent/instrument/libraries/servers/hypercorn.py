"""hypercorn: the application where it is wrapped for its workers, on asyncio and trio, and the process that starts
these."""

from __future__ import annotations

from typing import Any

from ....hosting.late_start import hold_back
from ...arguments import Args, Kwargs, argument
from ...instrumentation import Instrumentation
from ...living import living
from ...looking import before_function
from ...patches import Patches
from .serving import wrap_asgi, wrap_wsgi, wrapping


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "hypercorn.run":
        patches.wrap(module, "run", before_function(_hold_back))
    else:
        patches.wrap(module.ASGIWrapper, "__init__", wrapping(wrap_asgi, 1, "app"))
        patches.wrap(module.WSGIWrapper, "__init__", wrapping(wrap_wsgi, 1, "app"))
        for served in living(module.ASGIWrapper):
            patches.set(served, "app", wrap_asgi(served.app))


def _hold_back(args: Args, kwargs: Kwargs) -> None:
    if argument(args, kwargs, 0, "config").workers:
        hold_back()


INSTRUMENTATION = Instrumentation(
    name="hypercorn",
    module="hypercorn.app_wrappers",
    also=("hypercorn.run",),
    hook=_hook,
    versions=">=0.15,<1",
    opentelemetry=("asgi",),
)
