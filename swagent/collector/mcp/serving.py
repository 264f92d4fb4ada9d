"""Speaks the Model Context Protocol, by the package `mcp`: over stdio, and as an endpoint of the page's server.

Importing this module needs that package, which is an extra, and takes about a second.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from .asking import Ask, AskingError
from .tools import TOOLS, answer_of

_MOST_BODY = 64 * 1024
_INSTRUCTIONS = (
    "Traces, errors, logs and findings of the applications on this machine that report to a swagent collector. "
    "Ask findings first; then trace, with an id from its answer."
)


def make_server(ask: Ask) -> Server[Any]:
    """A server of the tools."""

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
        tools = [
            types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints)
            for tool in TOOLS
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text, is_error = await answer_of(ask, params.name, params.arguments or {}), False
        except AskingError as error:
            text, is_error = str(error), True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    return Server("swagent", instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(ask: Ask) -> None:
    """Serve at this process's stdin and stdout until the client closes stdin. Cancellation ends it."""
    server = make_server(ask)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_request(server: Server[Any], scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request over HTTP. There are no sessions, so each is served by itself."""
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=_MOST_BODY)
    async with manager.run():
        await manager.handle_request(scope, receive, send)
