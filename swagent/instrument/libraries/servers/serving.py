"""Putting the middleware around an application where a server loads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....asgi import SkyWalkingMiddleware as AsgiMiddleware
from ....hosting.late_start import hold_back, start_now
from ....wsgi import SkyWalkingMiddleware as WsgiMiddleware
from ...installation import is_off
from ...patches import Make
from ...rewriting import rewriting_argument


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


def wrapping(wrap: Callable[[Any], Any], place: int, name: str) -> Make:
    """For `Patches.wrap`: a function that gets an application, which is to be wrapped.

    :param place: the application's, by position, counted with the object whose method it is
    :param name: its name there
    """
    return rewriting_argument(place, name, lambda app: wrap(app) if callable(app) else app)


def holding_back(supervise: Callable[..., Any]) -> Callable[..., Any]:
    """For `Patches.wrap`: what a process does that only looks after others, in which the application is served. It has
    no agent, and nothing is alive in it when it forks."""

    def supervising(*args: Any, **kwargs: Any) -> Any:
        hold_back()
        return supervise(*args, **kwargs)

    return supervising
