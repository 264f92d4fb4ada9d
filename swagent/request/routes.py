"""The operation of a request: the template of its route if the framework shows it, and its path otherwise.

A template keeps the number of endpoints small: `/items/{id}` instead of one endpoint for each item. Requests that match
no route share one name, because a client can send any path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.trace.model import Component
from .facts import UNMATCHED, WEBSOCKET

# Looking up a member in its enum takes longer than most lines here.
PYTHON, FASTAPI = Component.PYTHON, Component.FASTAPI

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", WEBSOCKET})
"""The known methods (RFC 9110, section 9, and RFC 5789); servers pass on any token."""

ROUTE = "swagent.route"
"""The key in the scope for the template, or UNMATCHED, of a framework that does not write its own key."""

COMPONENT = "swagent.component"
"""The key in the scope for the component of the framework."""


def route_template(scope: Mapping[str, Any]) -> str | None:
    """The template of the route that matched; None if the framework does not show it, or no route matched.

    :param scope: the ASGI scope after routing; the routers of Starlette, FastAPI and Litestar write into it, and
        FastAPI takes some of it back when the route has been served
    """
    path = None
    # `in` and a subscript cost less than `get`, which is a call
    if "fastapi" in scope and type(fastapi := scope["fastapi"]) is dict:
        # FastAPI composes the prefix of `include_router()` here; its `route` knows only its own part
        included: Any = fastapi.get("effective_route_context")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        path = path_of(included) if included is not None else None
    if path is None and "route" in scope and (route := scope["route"]) is not None:
        # as in `path_of`, without the call
        try:
            path = _PATHS[id(route)][1]
        except KeyError:
            path = _read_path(route)
    if path is None:
        # Litestar
        template = scope.get("path_template") or scope.get(ROUTE)
        path = template if isinstance(template, str) and template else None
    # Starlette's mounts add to the path of the application's own root
    if path is None or path is UNMATCHED or "app_root_path" not in scope:
        return path
    root = scope["app_root_path"]
    if root is None or scope.get("root_path", "") == root:
        return path
    mount = _mounted_at(scope, path)
    return mount + path if mount else path


# Keyed by identity, because routes compare by their parts and have no hash. Each entry keeps its route alive, so no
# other route can have its identity.
_PATHS: dict[int, tuple[object, str | None]] = {}
_MOST_PATHS = 1024


def path_of(route: Any) -> str | None:
    """The template of a route object; None if it has none."""
    try:
        return _PATHS[id(route)][1]
    except KeyError:
        return _read_path(route)


def _read_path(route: Any) -> str | None:
    path = getattr(route, "path_format", None) or getattr(route, "path", None)
    # a mount is no route: one of the routes in it may have matched
    found = path if isinstance(path, str) and path and not hasattr(route, "routes") else None
    if len(_PATHS) >= _MOST_PATHS:
        _PATHS.clear()
    _PATHS[id(route)] = (route, found)
    return found


def is_unmatched(scope: Mapping[str, Any], is_answered: bool) -> bool:
    """Whether the application has routes and none of them matched the request.

    :param is_answered: whether the response has begun; before that, the application in a mount may still find a route
    """
    if "router" in scope:  # Starlette, FastAPI
        endpoint: Any = scope.get("endpoint")
        return endpoint is None or (is_answered and hasattr(endpoint, "routes"))
    return "litestar_app" in scope and "path_template" not in scope


def _mounted_at(scope: Mapping[str, Any], template: str) -> str:
    """The path of the mount that holds the routes: the part that Starlette added to the application's root, with the
    names of the mount's parameters in the place of their values.

    :param template: of the route; its parameters do not belong to the mount
    """
    root: Any = scope.get("app_root_path")
    mounted: str = scope.get("root_path", "")
    if not (isinstance(root, str) and len(mounted) > len(root) and mounted.startswith(root)):
        return ""
    parts = mounted[len(root) :].split("/")
    parameters: Mapping[str, object] = scope.get("path_params") or {}
    for name, value in parameters.items():
        if f"{{{name}}}" not in template and str(value) in parts:
            parts[parts.index(str(value))] = f"{{{name}}}"
    return "/".join(parts)


def component_of(scope: Mapping[str, Any]) -> Component:
    """The framework that serves the request, as far as the scope shows it."""
    if ARE_FASTAPI[type(scope.get("app"))] or "fastapi" in scope:
        return FASTAPI
    return scope.get(COMPONENT, PYTHON)  # type: ignore[no-any-return]


ARE_FASTAPI: BoundedCache[type, bool] = BoundedCache(lambda kind: kind.__name__ == "FastAPI")
"""Which classes of applications are FastAPI's."""
