"""The route that a WSGI framework found for a request, and the framework itself.

Bottle writes the route into the environ. Flask has a signal for it. In Django, Falcon and Pyramid every request passes
one method, which is wrapped here so that it writes the route into the scope. This module imports none of them: a
framework that serves requests is imported already.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..agent_log import RateLimitedLog
from ..record.trace.model import Component
from ..request.facts import UNMATCHED
from ..request.following import at_end, follow_imported, replace_method
from ..request.routes import COMPONENT, ROUTE
from .scope import SCOPE, Environ, mounted_at

_limited = RateLimitedLog()


def follow_routes() -> None:
    """From now on, write the routes of the imported frameworks into the scopes. May be called again. Never raises."""
    follow_imported(_FOLLOWED, "routes")


def note_route(environ: Environ, status: int) -> None:
    """Write the route into the scope of a request whose framework shows it only now. Never raises.

    :param status: of the response; 0 until it has begun
    """
    scope = environ.get(SCOPE)
    if scope is None or ROUTE in scope:
        return
    try:
        if "bottle.app" in environ:
            route = environ.get("bottle.route")
            _note(environ, None if route is None else route.rule, Component.BOTTLE)
        elif scope.get(COMPONENT) is Component.PYRAMID and status == 404:
            # a request without a route may still be found by traversal
            scope[ROUTE] = UNMATCHED
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        _limited.warn("environ", "the route of a request cannot be read: %r", error)


def _note(environ: Environ, template: str | None, component: Component) -> None:
    """:param template: None: no route matched the request"""
    scope = environ.get(SCOPE)
    if scope is not None:
        scope[COMPONENT] = component
        scope[ROUTE] = UNMATCHED if template is None else f"{mounted_at(environ)}/{template.lstrip('/')}"


def _follow_flask(flask: Any) -> None:
    # until Flask 2.3 its signals need a package that may be missing
    if flask.signals.__dict__.get("signals_available", True):
        flask.request_started.connect(_note_route_of_flask)
        at_end(_note_route_of_flask, lambda: flask.request_started.disconnect(_note_route_of_flask))
    else:
        replace_method(flask.Flask, "preprocess_request", _noting_route_of_flask)


def _noting_route_of_flask(preprocess: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(preprocess)
    def preprocess_request(*args: Any, **kwargs: Any) -> Any:
        _note_route_of_flask(None)
        return preprocess(*args, **kwargs)

    return preprocess_request


def _note_route_of_flask(_: object, **__: object) -> None:
    try:
        request = sys.modules["flask"].request
        rule = request.url_rule
        _note(request.environ, None if rule is None else rule.rule, Component.FLASK)
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        _limited.warn("flask", "the route of a request cannot be read: %r", error)


def _follow_django(django: Any) -> None:
    _follow_method(django.WSGIHandler, "resolve_request", _note_route_of_django)


def _note_route_of_django(request: Any, match: Any) -> None:
    _note(request.environ, None if match is None else match.route, Component.DJANGO)


def _follow_falcon(falcon: Any) -> None:
    _follow_method(falcon.App, "_get_responder", _note_route_of_falcon)


def _note_route_of_falcon(request: Any, found: Any) -> None:
    # responder, parameters, resource, template
    template = found[3] if found is not None else None
    environ = getattr(request, "env", None)
    if environ is not None:
        _note(environ, template, Component.FALCON)


def _follow_pyramid(pyramid: Any) -> None:
    _follow_method(pyramid.RoutesMapper, "__call__", _note_route_of_pyramid)


def _note_route_of_pyramid(request: Any, found: Any) -> None:
    route = found["route"] if found is not None else None
    if route is not None:
        _note(request.environ, route.pattern, Component.PYRAMID)
    elif (scope := request.environ.get(SCOPE)) is not None:
        scope[COMPONENT] = Component.PYRAMID


def _follow_method(owner: Any, name: str, note: Callable[[Any, Any], None]) -> None:
    """Wrap the method of a framework that finds the view of a request, so that it notes the result."""
    replace_method(owner, name, functools.partial(_noting, note=note))


def _noting(method: Callable[..., Any], note: Callable[[Any, Any], None]) -> Callable[..., Any]:
    """The method, with a note before and after."""

    @functools.wraps(method)
    def find(self: Any, *args: Any, **kwargs: Any) -> Any:
        # the only argument, under the name that the framework has for it
        request = next(iter((*args, *kwargs.values())), None)
        # unmatched, if the method raises
        _try(note, request, None)
        found = method(self, *args, **kwargs)
        _try(note, request, found)
        return found

    return find


def _try(note: Callable[[Any, Any], None], request: Any, found: Any) -> None:
    try:
        note(request, found)
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        _limited.warn(note.__name__, "the route of a request cannot be read: %r", error)


_FOLLOWED: dict[str, Callable[[Any], None]] = {
    "flask": _follow_flask,
    "django.core.handlers.wsgi": _follow_django,
    "falcon.app": _follow_falcon,
    "pyramid.urldispatch": _follow_pyramid,
}
