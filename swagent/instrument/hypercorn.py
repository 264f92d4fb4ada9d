"""hypercorn: the application where it is wrapped for its workers, on asyncio and trio, and the process that starts
these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime.late_start import hold_back
from .instrumentation import Instrumentation
from .patches import Patches
from .serving import wrap_asgi, wrap_wsgi


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "hypercorn.run":
        patches.wrap(module, "run", _around_run)
    else:
        patches.wrap(module.ASGIWrapper, "__init__", _wrapping(wrap_asgi))
        patches.wrap(module.WSGIWrapper, "__init__", _wrapping(wrap_wsgi))


def _wrapping(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    def around(initialise: Callable[..., None]) -> Callable[..., None]:
        def make(self: Any, app: Any, *args: Any, **kwargs: Any) -> None:
            initialise(self, wrap(app), *args, **kwargs)

        return make

    return around


def _around_run(run: Callable[..., Any]) -> Callable[..., Any]:
    def running(config: Any, *args: Any, **kwargs: Any) -> Any:
        if config.workers:
            hold_back()
        return run(config, *args, **kwargs)

    return running


INSTRUMENTATION = Instrumentation(
    name="hypercorn",
    module="hypercorn.app_wrappers",
    also=("hypercorn.run",),
    hook=_hook,
    versions=">=0.15,<1",
    opentelemetry=("asgi",),
)
