"""The operation that a request belongs to: its route's template where the framework tells, and its path otherwise.

A template keeps the number of endpoints small: `/items/{id}` instead of one endpoint an item. What no route took has no
template, and one name for all: paths that anybody may make up are no endpoints.
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
"""Known ones (RFC 9110, section 9, and RFC 5789); servers hand on any token."""

ROUTE = "swagent.route"
"""Where the template stands in the scope of frameworks that do not write it there by themselves, or UNMATCHED."""

COMPONENT = "swagent.component"
"""Where the framework's component stands in the scope, where somebody has told it."""


def route_template(scope: Mapping[str, Any]) -> str | None:
    """The template of the route that took the request; None where the framework does not tell, or none took it.

    :param scope: the ASGI scope after routing; the routers of Starlette, FastAPI and Litestar write into it, and
        FastAPI takes some of it back when the route has been served
    """
    path = None
    # looking for a key and taking its value takes less than `get`, which is a call
    if "fastapi" in scope and type(fastapi := scope["fastapi"]) is dict:
        # FastAPI composes the prefix of `include_router()` here; its `route` knows only its own part
        included: Any = fastapi.get("effective_route_context")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        path = _path_of(included) if included is not None else None
    if path is None and "route" in scope and (route := scope["route"]) is not None:
        # as in `_path_of`, which would be a call
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


# By identity, since routes compare equal by what they are made of, and cannot be looked up by it. Each keeps its route
# alive, so no other one can have its identity.
_PATHS: dict[int, tuple[object, str | None]] = {}
_MOST_PATHS = 1024


def _path_of(route: Any) -> str | None:
    try:
        return _PATHS[id(route)][1]
    except KeyError:
        return _read_path(route)


def _read_path(route: Any) -> str | None:
    path = getattr(route, "path_format", None) or getattr(route, "path", None)
    # a mount has routes and is none: what it leads to took the request, if anything did
    found = path if isinstance(path, str) and path and not hasattr(route, "routes") else None
    if len(_PATHS) >= _MOST_PATHS:
        _PATHS.clear()
    _PATHS[id(route)] = (route, found)
    return found


def is_unmatched(scope: Mapping[str, Any], is_answered: bool) -> bool:
    """Whether the application has routes and none of them took the request.

    :param is_answered: whether the response has begun; before that, what a mount leads to may yet find a route
    """
    if "router" in scope:  # Starlette, FastAPI
        endpoint: Any = scope.get("endpoint")
        return endpoint is None or (is_answered and hasattr(endpoint, "routes"))
    return "litestar_app" in scope and "path_template" not in scope


def _mounted_at(scope: Mapping[str, Any], template: str) -> str:
    """The path of the mount that the routes stand in: what Starlette added to the application's own root, with the
    names of the mount's parameters in the place of their values.

    :param template: of the route, whose own parameters are none of the mount's
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
    """The framework that serves the request, as far as it shows itself."""
    if ARE_FASTAPI[type(scope.get("app"))] or "fastapi" in scope:
        return FASTAPI
    return scope.get(COMPONENT, PYTHON)  # type: ignore[no-any-return]


ARE_FASTAPI: BoundedCache[type, bool] = BoundedCache(lambda kind: kind.__name__ == "FastAPI")
"""Which classes of applications are FastAPI's."""
