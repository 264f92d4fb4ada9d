"""uvicorn: the application where its configuration loads it, and the processes that only look after others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime.late_start import hold_back
from .instrumentation import Instrumentation
from .patches import Patches
from .serving import wrap_asgi, wrap_wsgi

_SUPERVISORS = {"uvicorn.supervisors.multiprocess": "Multiprocess", "uvicorn.supervisors.basereload": "BaseReload"}


def _hook(module: Any, patches: Patches) -> None:
    supervisor = _SUPERVISORS.get(module.__name__)
    if supervisor is not None:
        patches.wrap(getattr(module, supervisor), "run", _around_supervising)
        return
    patches.wrap(module.Config, "load", _around_load)
    # it calls the application in another thread, and tells that nothing of the request
    patches.wrap(module, "WSGIMiddleware", _around_wsgi)


def _around_load(load: Callable[..., Any]) -> Callable[..., Any]:
    def loading(self: Any) -> None:
        load(self)
        if self.interface != "wsgi":
            self.loaded_app = wrap_asgi(self.loaded_app)

    return loading


def _around_wsgi(middleware: Callable[..., Any]) -> Callable[..., Any]:
    def make(app: Any, *args: Any, **kwargs: Any) -> Any:
        return middleware(wrap_wsgi(app), *args, **kwargs)

    return make


def _around_supervising(run: Callable[..., Any]) -> Callable[..., Any]:
    def running(self: Any, *args: Any, **kwargs: Any) -> Any:
        hold_back()
        return run(self, *args, **kwargs)

    return running


INSTRUMENTATION = Instrumentation(
    name="uvicorn",
    module="uvicorn.config",
    also=tuple(_SUPERVISORS),
    hook=_hook,
    versions=">=0.23,<1",
    plugins=("sw_fastapi",),
    opentelemetry=("asgi", "fastapi", "starlette"),
)
