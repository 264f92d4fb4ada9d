"""The names that are looked at inside of Starlette, on which FastAPI is built."""

from __future__ import annotations

from .touched import Function, Library, Local

LIBRARY = Library("starlette", ">=0.40,<2")

_CALL_NEXT = Function(
    LIBRARY,
    "starlette.middleware.base",
    "BaseHTTPMiddleware.__call__.call_next",
    "which task a middleware waits for",
)
GROUP_WAITED_FOR = Local(_CALL_NEXT, "task_group")
