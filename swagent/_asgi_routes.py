"""The operation that a request belongs to: its route's template where the framework tells, and its path otherwise.

A template keeps the number of endpoints small: `/items/{id}` instead of one endpoint an item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def route_template(scope: Mapping[str, Any]) -> str | None:
    """The template of the route that took the request; None where the framework does not tell, or none took it.

    :param scope: the ASGI scope after routing; the routers of Starlette, FastAPI and Litestar write into it
    """
    # FastAPI composes the prefix of `include_router()` here; its `route` knows only its own part
    included: Any = _get(scope.get("fastapi"), "effective_route_context")
    route: Any = scope.get("route")
    for source in (included, route):
        path = getattr(source, "path_format", None) or getattr(source, "path", None)
        # a mount has routes and is none: what it leads to took the request, if anything did
        if isinstance(path, str) and path and not hasattr(source, "routes"):
            return _mounted_at(scope) + path
    # Litestar
    template = scope.get("path_template")
    return _mounted_at(scope) + template if isinstance(template, str) and template else None


def _mounted_at(scope: Mapping[str, Any]) -> str:
    """The path of the mount that the routes stand in: what Starlette added to the application's own root."""
    root: Any = scope.get("app_root_path")
    mounted: str = scope.get("root_path", "")
    return mounted[len(root) :] if isinstance(root, str) and mounted.startswith(root) else ""


def _get(mapping: Any, key: str) -> Any:
    return mapping.get(key) if isinstance(mapping, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def component_of(scope: Mapping[str, Any]) -> str:
    """The name of the framework that serves the request, as far as it shows itself: `fastapi` or ``."""
    return "fastapi" if "fastapi" in scope or type(scope.get("app")).__name__ == "FastAPI" else ""
