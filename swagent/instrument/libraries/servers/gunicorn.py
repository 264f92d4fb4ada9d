"""gunicorn: the application where a worker has loaded it, and the master, in which nothing may be alive when it forks.

Of its workers those that serve WSGI are hooked here, and its own for ASGI. Those of uvicorn and aiohttp load the
application by ways of their own, which are hooked there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....hosting.late_start import start_now
from ...call import safely
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches
from .serving import holding_back, wrap_asgi, wrap_wsgi

# Where the workers are defined that serve WSGI; other people's are made of them.
_WSGI_WORKERS = frozenset({"gunicorn.workers.sync", "gunicorn.workers.gthread", "gunicorn.workers.base_async"})


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "gunicorn.arbiter":
        # it imports the application, with --preload
        patches.wrap(module.Arbiter, "setup", holding_back)
    elif module.__name__ == "gunicorn.workers.gasgi":
        patches.wrap(module.ASGIWorker, "load_wsgi", after_call(_wrap_asgi))
    else:
        patches.wrap(module.Worker, "load_wsgi", _around_loading_wsgi)


def _around_loading_wsgi(load: Callable[..., Any]) -> Callable[..., Any]:
    def loading(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_wsgi = any(each.__module__ in _WSGI_WORKERS for each in type(self).__mro__)
        if is_wsgi:
            # first: what the application records while it is imported belongs to this worker
            start_now()
        loaded = load(self, *args, **kwargs)
        if is_wsgi:
            safely(_wrap_wsgi, self)
        return loaded

    return loading


def _wrap_wsgi(worker: Any) -> None:
    worker.wsgi = wrap_wsgi(worker.wsgi)


def _wrap_asgi(worker: Any, *_: object) -> None:
    worker.asgi = wrap_asgi(worker.asgi)


INSTRUMENTATION = Instrumentation(
    name="gunicorn",
    module="gunicorn.workers.base",
    also=("gunicorn.arbiter", "gunicorn.workers.gasgi"),
    hook=_hook,
    versions=">=20,<28",
    opentelemetry=("wsgi",),
)
