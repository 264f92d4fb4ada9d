"""uvicorn: the application where its configuration loads it, and the processes that only look after others.

In a server that serves already, the configuration has loaded it, and each connection keeps what it will call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from ....agent import running as running_agent
from ....agent_log import say
from ...instrumentation import Instrumentation
from ...living import find, living
from ...looking import after_call
from ...patches import Patches
from .serving import holding_back, wrap_asgi, wrap_wsgi

_SUPERVISORS = {"uvicorn.supervisors.multiprocess": "Multiprocess", "uvicorn.supervisors.basereload": "BaseReload"}


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "uvicorn.server":
        # older ones do not raise the signal again that ended them
        if hasattr(module.Server, "_serve"):
            patches.wrap(module.Server, "_serve", _around_serve)
        if living(module.Server):
            # their `_serve` has been called
            patches.wrap(module.Server, "shutdown", _around_serve)
        return
    supervisor = _SUPERVISORS.get(module.__name__)
    if supervisor is not None:
        patches.wrap(getattr(module, supervisor), "run", holding_back)
        return
    patches.wrap(module.Config, "load", after_call(partial(_wrap_loaded, module.WSGIMiddleware)))
    for config in living(module.Config):
        if config.loaded and config.interface != "wsgi":
            _wrap_served(config, patches)


def _wrap_served(config: Any, patches: Patches) -> None:
    """Wrap the application of a server that serves already, for its connections and for those to come."""
    bare, wrapped = config.loaded_app, wrap_asgi(config.loaded_app)
    patches.set(config, "loaded_app", wrapped)
    _exchange(config, bare, wrapped)
    patches.on_undo(partial(_exchange, config, wrapped, bare))


def _exchange(config: Any, before: Any, after: Any) -> None:
    for protocol in find(config.http_protocol_class):
        # one that is being made in the loop's thread has none yet
        if getattr(protocol, "app", None) is before:
            protocol.app = after


def _wrap_loaded(middleware: Any, config: Any, *_: object) -> None:
    if config.interface != "wsgi":
        config.loaded_app = wrap_asgi(config.loaded_app)
        return
    # what calls the application in another thread, and says nothing of the request there
    caller = config.loaded_app
    while not isinstance(caller, middleware):
        caller = caller.app
    caller.app = wrap_wsgi(caller.app)


def _around_serve(serve: Callable[..., Any]) -> Callable[..., Any]:
    async def serving(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return await serve(self, *args, **kwargs)
        finally:
            await _flush()

    return serving


async def _flush() -> None:
    """Send what waits. The server raises next the signal that has ended it, which may end the process at once."""
    agent = running_agent()
    try:
        if agent is not None:
            await agent.flush(agent.config.shutdown_timeout)
    except Exception as error:  # noqa: BLE001, RUF100  (the server has ended well)
        say(logging.WARNING, "the last records could not be sent: %r", error)


INSTRUMENTATION = Instrumentation(
    name="uvicorn",
    module="uvicorn.config",
    also=(*_SUPERVISORS, "uvicorn.server"),
    hook=_hook,
    versions=">=0.23,<1",
    plugins=("sw_fastapi",),
    opentelemetry=("asgi", "fastapi", "starlette"),
)
