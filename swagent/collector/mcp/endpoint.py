"""`/mcp` at the page's port: the protocol over HTTP, where the package for it is installed."""

from __future__ import annotations

import importlib
from typing import Any

import anyio.to_thread
from starlette.types import Receive, Scope, Send

from ..refusals import refuse
from .asking import Ask

PATH = "/mcp"
MISSING = "{} is missing; install it with: pip install 'swagent[collector,mcp]'"


class McpEndpoint:
    """The endpoint, an ASGI application. The package is imported for the first request."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._serving: Any = None
        self._server: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "POST":
            # nothing is sent but answers, so there is no stream to listen to
            await refuse(405, "use POST: an MCP client does")(scope, receive, send)
            return
        try:
            if self._serving is None:
                self._serving = await anyio.to_thread.run_sync(importlib.import_module, f"{__package__}.serving")
                self._server = self._serving.make_server(self._ask)
        except ImportError as error:
            if (error.name or "").startswith("swagent"):
                raise
            await refuse(501, MISSING.format((error.name or "mcp").partition(".")[0]))(scope, receive, send)
            return
        await self._serving.serve_request(self._server, scope, receive, send)
