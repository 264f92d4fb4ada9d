"""SkyWalkingMiddleware: traces every request of an ASGI application, and keeps the agent for as long as the application
lives.

Pure ASGI: Starlette's BaseHTTPMiddleware runs the application in another task and so hides its context. Here the
application runs in the server's own task, `receive` is passed on unchanged, the messages to `send` are read on their
way, and every exception and cancellation passes.

Where the agent comes from:

1. `agent=`: the caller's, which the caller starts and stops.
2. An agent that runs in this process already, by `swagent run` or another middleware: it is used, flushed at shutdown,
   and left running.
3. The server sends `lifespan`: the agent runs inside that call, whatever loop it is on, and drains at shutdown. If the
   application turns out to have no lifespan, the agent drains when the loop ends.
4. No lifespan (switched off, or a server without): there is no scope to live in, so the first request starts the
   process's agent thread (`swagent.start()`), which is stopped when the interpreter exits.

A setting that cannot be used fails the server's start. Once it has started, nothing that goes wrong in here reaches a
request: it is counted, logged now and then, and the request is served without its span.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from typing import Any

import anyio

from .. import stop_budgets
from ..agent import Agent
from ..agent_log import say
from ..config import Config
from ..errors import ConfigError
from ..hosting.adoption import Adopted, adopt
from ..hosting.agent_thread import start as start_agent
from ..hosting.late_start import followed, note_serving
from ..record.trace.tracer import Tracer
from ..request.faults import Faults
from ..request.framework_errors import follow_errors
from ..request.pending import PendingRequest
from ..request.serving import serves
from .accelerated import Serving, serving
from .ending import end
from .frameworks import follow_routes
from .lifespan import App, Lifespan, Receive, Scope, Send, freeze_garbage
from .send import traced_send
from .timed import Served, splits_every, timed

# Marks a scope that a middleware has taken, so that a second middleware inside the first passes it on.
MARK = "swagent.span"
_TRACED = frozenset({"http", "websocket"})


class SkyWalkingMiddleware:
    """Wraps an ASGI application: `app = SkyWalkingMiddleware(app)`, or `app.add_middleware(SkyWalkingMiddleware)`."""

    def __init__(self, app: App, *, config: Config | None = None, agent: Agent | None = None) -> None:
        """Starts nothing.

        :param config: `Config.from_env()` at start when left out; a wrong setting fails the server's start
        :param agent: an agent that runs already; then no agent is started here
        """
        self.app = app
        self._config = config
        self._agent = agent
        # of the agent; looked up once
        self._tracer: Tracer | None = None
        # the application, where the time of requests is split
        self._timed: Served | None = None
        self._may_start_thread = True
        # of an application without a lifespan
        self._left: Agent | None = None
        # with the accelerator, from the first request on
        self._serving: Serving | None = None
        self._under_way = 0
        self._all_ended: anyio.Event | None = None
        self.faults = Faults()

    @serves
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> Any:
        """Serve one scope.

        :returns: what the application returns, which is to be None: servers complain of anything else
        """
        if self._serving is not None and (served := self._serving(self.app, scope, receive, send)) is not None:
            return await served
        tracer = self._tracer
        if tracer is None or MARK in scope or scope["type"] not in _TRACED:
            return await self._pass_on(scope, receive, send)
        request = None
        try:
            # not the request itself: scope and request would hold each other
            scope[MARK] = True
            request = PendingRequest(tracer, scope, self.faults)
        except Exception as fault:  # noqa: BLE001, RUF100  (ours, and it costs no request)
            self.faults.note("opening the span of a request", fault)
        if request is None:
            return await self.app(scope, receive, send)
        self._under_way += 1
        error: BaseException | None = None
        try:
            sending, app = traced_send(request, send), self._timed
            return await (self.app(scope, receive, sending) if app is None else app(request, scope, receive, sending))
        except BaseException as raised:
            error = raised
            raise
        finally:
            if not request.ended or request.previous is not None or error is not None:
                end(request, error, send)
            error = None  # or the error and this frame would hold each other
            self._under_way -= 1
            if self._all_ended is not None:
                self._note_all_ended()

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> Any:
        """Serve a lifespan, another kind of scope, a request that another middleware has taken, or the first one."""
        if scope["type"] == "lifespan":
            if MARK not in scope:
                scope[MARK] = self
                if self._agent is None or self._agent is self._left:
                    return await self._live(scope, receive, send)
            elif self._config is not None:
                # the middleware outside of this one has the agent: this logs which settings have no effect
                adopt(self._config)
        elif MARK not in scope and scope["type"] in _TRACED and self._has_tracer():
            return await self(scope, receive, send)
        return await self.app(scope, receive, send)

    def _has_tracer(self) -> bool:
        """Whether there is an agent to record requests. Never raises."""
        try:
            return self._find_tracer() is not None
        except Exception as fault:  # noqa: BLE001, RUF100  (ours, and it costs no request)
            self.faults.note("opening the span of a request", fault)
            return False

    def _find_tracer(self) -> Tracer | None:
        """The tracer of the agent, at the first request of the agent; None without an agent."""
        agent = self._agent or self._start_thread()
        if agent is None:
            return None
        self._tracer = agent.tracer
        self._serving = serving(self.app, agent, self.faults)
        note_serving()
        agent.watch_loop()
        follow_routes()
        follow_errors()
        every = splits_every(agent.config)
        if every:
            self._timed = timed(self.app, every, agent.config.task_tree_every, agent.steps_here, self.faults)
        return agent.tracer

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> Any:
        """Run the application's lifespan inside the agent's, and return what it returns."""
        self._may_start_thread = False
        lifespan = Lifespan(receive, send, has_started=self._freeze)
        self._forget_agent()
        try:
            async with AsyncExitStack() as stack:
                running = adopt(self._config)
                if running is None:
                    self._agent = await Agent(self._config or followed()).start()
                    stack.push_async_exit(self._agent)
                else:
                    self._agent = await stack.enter_async_context(Adopted(running))
                note_serving()
                try:
                    result = await lifespan.serve(self.app, scope)
                finally:
                    if lifespan.is_missing:
                        # the server may go on, and the agent with it, until the end of the loop stops the agent
                        self._left = self._agent
                        stack.pop_all()
                    else:
                        await self._let_requests_end()
        except Exception as error:
            if self._agent is None:
                # a server takes a bare exception for "no lifespan", and would go on without the application's
                await lifespan.fail(str(error))
            else:
                # Starlette says `startup.failed` or `shutdown.failed` and raises as well
                await lifespan.finish()
            raise
        finally:
            if self._left is None:
                self._forget_agent()
        await lifespan.finish()
        return result

    def _forget_agent(self) -> None:
        self._agent = self._left = self._tracer = self._timed = self._serving = None

    def _freeze(self) -> None:
        if self._agent is not None and self._agent.config.gc_freeze:
            freeze_garbage()

    async def _let_requests_end(self) -> None:
        """Wait a little for requests that the server has cancelled, because their spans end a few steps later: uvicorn
        cancels requests just before it sends the shutdown, or cancels everything when it is interrupted."""
        accelerated = self._serving
        if self._under_way or (accelerated is not None and accelerated.under_way):
            self._all_ended = anyio.Event()
            if accelerated is not None:
                accelerated.waiting = self._note_all_ended
            with anyio.move_on_after(stop_budgets.REQUESTS_END, shield=True):
                await self._all_ended.wait()
            self._all_ended = None
            if accelerated is not None:
                accelerated.waiting = None

    def _note_all_ended(self) -> None:
        is_idle = not self._under_way and (self._serving is None or not self._serving.under_way)
        if self._all_ended is not None and is_idle:
            self._all_ended.set()

    def _start_thread(self) -> Agent | None:
        """The process's agent, for a server that sends no lifespan. Tried once."""
        if not self._may_start_thread:
            return None
        self._may_start_thread = False
        try:
            self._agent = adopt(self._config) or start_agent(self._config or followed())
        except ConfigError as error:
            # the server runs already, and the agent never raises into a running application
            say(logging.ERROR, "swagent is off: %s", error)
        except Exception as error:  # noqa: BLE001, RUF100  (it costs no request)
            say(logging.ERROR, "swagent is off", exc_info=error)
        return self._agent
