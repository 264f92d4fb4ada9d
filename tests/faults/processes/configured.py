"""The application with a configuration that is made when this is imported; with `--preload`, before the fork."""

from __future__ import annotations

from starlette.applications import Starlette

from asgi.served import routes
from swagent import Config
from swagent.asgi import SkyWalkingMiddleware

app = SkyWalkingMiddleware(Starlette(routes=routes), config=Config.from_env())
