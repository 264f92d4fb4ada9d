"""SkyWalkingMiddleware: traces every request of a WSGI application (PEP 3333).

A WSGI server tells nobody when it starts and when it ends, so the agent has no scope to live in. Where one runs in the
process already it is used; otherwise the first request starts the process's agent thread (`swagent.start()`), which is
stopped when the interpreter exits. Nothing is started before, so a server may import the application and fork its
workers afterwards: each worker gets an agent of its own.

Nothing that goes wrong in here reaches a request: it is counted, logged now and then, and the request is served without
its span.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from ..agent import Agent
from ..agent_log import say
from ..asgi.faults import Faults
from ..asgi.pending import PendingRequest
from ..config import Config
from ..errors import ConfigError
from ..record.trace.context import current
from ..record.trace.tracer import Tracer, running
from ..runtime.agent_thread import start as start_agent
from ..runtime.late_start import followed
from .frameworks import follow_routes, note_route
from .response import App, Pieces, Response, StartResponse
from .scope import SCOPE, Environ, scope_of


class SkyWalkingMiddleware:
    """Wraps a WSGI application: `app = SkyWalkingMiddleware(app)`, or `app.wsgi_app =
    SkyWalkingMiddleware(app.wsgi_app)`."""

    def __init__(self, app: App, *, config: Config | None = None, agent: Agent | None = None) -> None:
        """Starts nothing.

        :param config: `Config.from_env()` at the first request when left out
        :param agent: an agent that runs already; then no agent is started here
        """
        self.app = app
        self._config = config
        self._agent = agent
        # where the agent was asked for: a forked child may ask once more
        self._process = 0
        self._follows_routes = False
        self.faults = Faults()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        return self.serve(self.app, environ, start_response)

    def serve(self, app: App, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request by this application."""
        outside = current.get()
        request = self._open(environ) if SCOPE not in environ else None
        if request is None:
            return app(environ, start_response)
        response = Response(request, start_response)
        try:
            body = app(environ, response.start)
            note_route(environ, request.status)
            return _followed(body, environ, response)
        except BaseException as error:
            note_route(environ, request.status)
            response.end(error)
            raise
        finally:
            response.leave(outside)

    def _open(self, environ: Environ) -> PendingRequest | None:
        """Begin a request; None where there is no agent."""
        try:
            tracer = self._agent.tracer if self._agent is not None else running() or self._start()
            if tracer is None:
                return None
            if not self._follows_routes:
                self._follows_routes = True
                follow_routes()
            scope = scope_of(environ, with_all_headers=callable(tracer.trust_incoming))
            environ[SCOPE] = scope
            return PendingRequest(tracer, scope, self.faults)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, and it costs no request)
            self.faults.note("opening the span of a request", error)
            return None

    def _start(self) -> Tracer | None:
        """Start the process's agent. Tried once in each process."""
        if self._process == os.getpid():
            return None
        self._process = os.getpid()
        try:
            return start_agent(self._config or followed()).tracer
        except ConfigError as error:
            # the server runs already, and the agent never raises into a running application
            say(logging.ERROR, "swagent is off: %s", error)
        except Exception as error:  # noqa: BLE001, RUF100  (it costs no request)
            say(logging.ERROR, "swagent is off", exc_info=error)
        return None


def _followed(body: Any, environ: Environ, response: Response) -> Iterable[bytes]:
    """The body as the server gets it."""
    if type(body) in (list, tuple) and response.request.status:
        response.end()
        return cast("Iterable[bytes]", body)
    if not _is_file(body, environ):
        return Pieces(body, response)
    # the server knows it by its class, and may let the system send it: only its end is to be seen
    try:
        body.close = Pieces(_Closing(getattr(body, "close", _do_nothing)), response).close
    except (AttributeError, TypeError):
        response.end()
    return cast("Iterable[bytes]", body)


def _is_file(body: object, environ: Environ) -> bool:
    """Whether the application has used the server's own way to send a file."""
    wrapper = environ.get("wsgi.file_wrapper")
    return isinstance(wrapper, type) and isinstance(body, wrapper)


class _Closing:
    """Stands in for a body of which only the end is to be seen."""

    def __init__(self, close: Callable[[], object]) -> None:
        self.close = close

    def __iter__(self) -> Iterator[bytes]:
        return iter(())


def _do_nothing() -> None:
    """What a body without `close` does at its end."""
