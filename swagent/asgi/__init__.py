"""The ASGI middleware: `from swagent.asgi import SkyWalkingMiddleware`."""

from __future__ import annotations

from .middleware import SkyWalkingMiddleware as SkyWalkingMiddleware
