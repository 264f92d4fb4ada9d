"""aiohttp's server: `Application._handle`, through which every request passes, and the application's own life, in which
the agent lives."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from weakref import ReferenceType, ref

from ....agent import Agent
from ....agent_log import say
from ....errors import ConfigError
from ....hosting.adoption import Adopted, adopt
from ....hosting.late_start import followed, note_serving
from ....record.trace.model import Component
from ....request.pending import PendingRequest
from ...arguments import argument
from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from .server_request import address_of, begin_request, end_request, note_error, note_route

# By the identity of the application, which cannot be hashed in aiohttp 3.8. An entry ends with its application, which
# may be gone without a cleanup.
_agents: dict[int, tuple[ReferenceType[Any], Agent | Adopted]] = {}


def _hook(module: Any, patches: Patches) -> None:
    patches.wrap(module.Application, "_handle", _around_handle)
    patches.wrap(module.Application, "startup", _around_startup)
    patches.wrap(module.Application, "cleanup", _around_cleanup)


def _around_handle(handle: Callable[..., Any]) -> Callable[..., Any]:
    async def handling(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked = argument(args, kwargs, 0, "request")
        request = safely(_begin, asked)
        if request is None:
            return await handle(self, *args, **kwargs)
        try:
            response = await handle(self, *args, **kwargs)
        except BaseException as error:
            safely(_end, request, asked, None, error)
            raise
        safely(_end, request, asked, response, None)
        return response

    return handling


def _begin(asked: Any) -> PendingRequest | None:
    client = address_of(asked.transport.get_extra_info("peername") if asked.transport is not None else None)
    return begin_request(
        Component.AIOHTTP, asked.method, asked.scheme, asked.path, asked.headers.items(), client, asked.query_string
    )


def _end(request: PendingRequest, asked: Any, response: Any, error: BaseException | None) -> None:
    # an answer may be raised, and then is the response
    status = getattr(response if error is None else error, "status", 0)
    match = asked.match_info
    if match is not None:
        resource = match.route.resource if match.http_exception is None else None
        note_route(request, resource.canonical if resource is not None else None)
    if error is not None:
        note_error(request, error, status)
        # what aiohttp answers for a handler that raised
        status = status or (500 if isinstance(error, Exception) else 0)
    end_request(request, status)


def _around_startup(startup: Callable[..., Any]) -> Callable[..., Any]:
    async def starting(self: Any, *args: Any, **kwargs: Any) -> Any:
        await _begin_life(self)
        return await startup(self, *args, **kwargs)

    return starting


def _around_cleanup(cleanup: Callable[..., Any]) -> Callable[..., Any]:
    async def cleaning(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return await cleanup(self, *args, **kwargs)
        finally:
            await _end_life(self)

    return cleaning


async def _begin_life(app: Any) -> None:
    """Start the agent on the application's loop, unless one runs.

    :raises ConfigError: when a setting cannot be used; the server does not start then
    """
    running = adopt(None)
    try:
        _keep(app, Adopted(running) if running is not None else await Agent(followed()).start())
        note_serving()
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001, RUF100  (it costs the agent, not the application)
        say(logging.ERROR, "swagent is off", exc_info=error)


def _keep(app: Any, agent: Agent | Adopted) -> None:
    identity = id(app)
    _agents[identity] = ref(app, lambda _: _agents.pop(identity, None)), agent


async def _end_life(app: Any) -> None:
    try:
        _, agent = _agents.pop(id(app), (None, None))
        if isinstance(agent, Agent):
            await agent.stop()
        elif agent is not None:
            await agent.__aexit__(None, None, None)
    except Exception as error:  # noqa: BLE001, RUF100  (the application has ended well)
        say(logging.ERROR, "the agent could not be stopped", exc_info=error)


INSTRUMENTATION = Instrumentation(
    name="aiohttp_server",
    module="aiohttp.web_app",
    hook=_hook,
    versions=">=3.8,<4",
    plugins=("sw_aiohttp",),
    opentelemetry=("aiohttp-server",),
)
