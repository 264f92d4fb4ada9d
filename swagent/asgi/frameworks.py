"""The routes of frameworks that do not write the matched route into the scope.

Quart has signals for that, and every request of Django passes one method. This module imports neither: a framework that
serves requests is imported already, and any other has no routes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..agent_log import RateLimitedLog
from ..record.trace.model import Component
from ..request.facts import UNMATCHED
from ..request.following import at_end, replace_method
from ..request.routes import COMPONENT, ROUTE

_limited = RateLimitedLog()


def follow_routes() -> None:
    """From now on, write the routes of these frameworks into the scopes. A second call does nothing. Never raises."""
    try:
        quart: Any = sys.modules.get("quart.signals")
        if quart is not None:
            quart.request_started.connect(_note_route_of_quart)
            quart.websocket_started.connect(_note_route_of_quart)
            at_end(_note_route_of_quart, lambda: _leave_quart(quart))
        django: Any = sys.modules.get("django.core.handlers.asgi")
        if django is not None:
            replace_method(django.ASGIHandler, "resolve_request", _noting_route_of_django)
    except Exception as error:  # noqa: BLE001, RUF100  (another version, or one that is being imported)
        _limited.warn("follow", "the routes of a framework cannot be followed: %r", error)


def _leave_quart(quart: Any) -> None:
    quart.request_started.disconnect(_note_route_of_quart)
    quart.websocket_started.disconnect(_note_route_of_quart)


async def _note_route_of_quart(_: object, **__: object) -> None:
    # a coroutine, because Quart runs plain functions in a thread
    try:
        quart: Any = sys.modules["quart"]
        request = quart.request if quart.has_request_context() else quart.websocket
        rule = request.url_rule
        request.scope[ROUTE] = UNMATCHED if rule is None else rule.rule
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        _limited.warn("quart", "the route of a request cannot be read: %r", error)


def _noting_route_of_django(resolve_request: Callable[..., Any]) -> Callable[..., Any]:
    """The method of its handler that finds the view of a request, with a note before and after."""

    @functools.wraps(resolve_request)
    def resolve(self: Any, *args: Any, **kwargs: Any) -> Any:
        # the only argument
        request = next(iter((*args, *kwargs.values())), None)
        # unmatched, if the method raises
        _note_route_of_django(request, None)
        match = resolve_request(self, *args, **kwargs)
        _note_route_of_django(request, match)
        return match

    return resolve


def _note_route_of_django(request: Any, match: Any) -> None:
    try:
        request.scope[ROUTE] = UNMATCHED if match is None else f"/{match.route}"
        request.scope[COMPONENT] = Component.DJANGO
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        _limited.warn("django", "the route of a request cannot be read: %r", error)
