"""hypercorn: the application where it is wrapped for its workers, on asyncio and trio, and the process that starts
these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....runtime.late_start import hold_back
from ...arguments import argument
from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from .serving import with_application, wrap_asgi, wrap_wsgi


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "hypercorn.run":
        patches.wrap(module, "run", _around_run)
    else:
        patches.wrap(module.ASGIWrapper, "__init__", _wrapping(wrap_asgi))
        patches.wrap(module.WSGIWrapper, "__init__", _wrapping(wrap_wsgi))


def _wrapping(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    def around(initialise: Callable[..., Any]) -> Callable[..., Any]:
        def make(self: Any, *args: Any, **kwargs: Any) -> Any:
            args, kwargs = safely(with_application, wrap, args, kwargs, 0, "app") or (args, kwargs)
            return initialise(self, *args, **kwargs)

        return make

    return around


def _around_run(run: Callable[..., Any]) -> Callable[..., Any]:
    def running(*args: Any, **kwargs: Any) -> Any:
        safely(_hold_back, argument(args, kwargs, 0, "config"))
        return run(*args, **kwargs)

    return running


def _hold_back(config: Any) -> None:
    if config.workers:
        hold_back()


INSTRUMENTATION = Instrumentation(
    name="hypercorn",
    module="hypercorn.app_wrappers",
    also=("hypercorn.run",),
    hook=_hook,
    versions=">=0.15,<1",
    opentelemetry=("asgi",),
)
