"""Putting the middleware around an application where a server loads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....asgi import SkyWalkingMiddleware as AsgiMiddleware
from ....runtime.late_start import hold_back, start_now
from ....wsgi import SkyWalkingMiddleware as WsgiMiddleware
from ...arguments import Args, Kwargs, argument, with_argument
from ...installation import is_off


def wrap_asgi(app: Any) -> Any:
    """The ASGI application behind a middleware; itself, if it has one, whose settings count then."""
    return app if isinstance(app, AsgiMiddleware) else AsgiMiddleware(app)


def wrap_wsgi(app: Any) -> Any:
    """The WSGI application behind a middleware; itself, if it has one. It is served in this process and from now on, so
    the agent starts, under `swagent run`."""
    start_now()
    return wrap_wsgi_for_later(app)


def wrap_wsgi_for_later(app: Any) -> Any:
    """The same where nothing is served yet, and perhaps in another process."""
    if isinstance(app, WsgiMiddleware) or is_off(type(app).__module__.partition(".")[0]):
        return app
    return WsgiMiddleware(app)


def with_application(
    wrap: Callable[[Any], Any], args: Args, kwargs: Kwargs, place: int, name: str
) -> tuple[Args, Kwargs]:  # fmt: skip
    """The arguments of a call with the application in them wrapped; as they are, where there is none.

    :param place: the application's, by position
    :param name: its name there
    """
    app = argument(args, kwargs, place, name)
    return with_argument(args, kwargs, place, name, wrap(app)) if callable(app) else (args, kwargs)


def holding_back(supervise: Callable[..., Any]) -> Callable[..., Any]:
    """For `Patches.wrap`: what a process does that only looks after others, in which the application is served. It has
    no agent, and nothing is alive in it when it forks."""

    def supervising(*args: Any, **kwargs: Any) -> Any:
        hold_back()
        return supervise(*args, **kwargs)

    return supervising
