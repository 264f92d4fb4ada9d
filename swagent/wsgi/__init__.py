"""The WSGI middleware: `from swagent.wsgi import SkyWalkingMiddleware`."""

from __future__ import annotations

from .middleware import SkyWalkingMiddleware as SkyWalkingMiddleware
