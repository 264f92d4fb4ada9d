"""SkyWalkingMiddleware: traces every request of a WSGI application (PEP 3333).

WSGI has no message for the start and the end of a server, so the agent has no scope to live in. An agent that runs in
the process already is used; otherwise the first request starts the process's agent thread (`swagent.start()`), which is
stopped when the interpreter exits. Nothing starts before, so a server may import the application and fork its workers
afterwards: each worker gets an agent of its own.

No error of the middleware reaches a request: it is counted, logged at intervals, and the request is served without its
span.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, cast

from ..agent import Agent
from ..agent_log import say
from ..config import Config
from ..errors import ConfigError
from ..forks import at_fork
from ..hosting.agent_thread import start as start_agent
from ..hosting.late_start import followed
from ..hosting.uwsgi import follow_forks
from ..record.trace.context import current
from ..record.trace.tracer import Tracer, running
from ..request.faults import Faults
from ..request.framework_errors import follow_errors
from ..request.pending import PendingRequest
from ..request.serving import serves
from .frameworks import follow_routes, note_route
from .response import App, Pieces, Response, SizedPieces, StartResponse
from .scope import SCOPE, Environ, scope_of
from .thread_clock import split_time

# Held while a request starts the agent. The thread that does so may come back here.
_starting = threading.RLock()


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
        # the process that has tried to start an agent: a forked child may try once more
        self._process = 0
        self._follows_routes = False
        # so many requests are next whose time is not split
        self._left = 0
        self.faults = Faults()
        follow_forks()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        return self.serve(self.app, environ, start_response)

    @serves
    def serve(self, app: App, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request by this application."""
        outside = current.get()
        request = self._open(environ)
        if request is None:
            return app(environ, start_response)
        every = request.tracer.splits_threads_every
        clock = split_time(request) if every == 1 or (every and self._is_next(every)) else None
        response = Response(request, start_response, clock)
        try:
            body = app(environ, response)
            note_route(environ, request.status)
            return self._follow(body, environ, response)
        except BaseException as error:
            note_route(environ, request.status)
            response.end(error)
            raise
        finally:
            response.leave(outside)

    def _open(self, environ: Environ) -> PendingRequest | None:
        """Begin a request. None: there is no agent, or a middleware outside of this one has begun the request."""
        try:
            if SCOPE in environ:
                return None
            tracer = self._agent.tracer if self._agent is not None else running() or self._start()
            if tracer is None:
                return None
            if not self._follows_routes:
                self._follows_routes = True
                follow_routes()
                follow_errors()
            scope = scope_of(environ, with_all_headers=callable(tracer.trust_incoming))
            environ[SCOPE] = scope
            return PendingRequest(tracer, scope, self.faults)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, and it costs no request)
            self.faults.note("opening the span of a request", error)
            return None

    def _is_next(self, every: int) -> bool:
        """Whether this request is one in so many."""
        # threads that count at a time may lose a count: a request more or less is split
        self._left -= 1
        if self._left >= 0:
            return False
        self._left = every - 1
        return True

    def _start(self) -> Tracer | None:
        """Start the process's agent. Tried once in each process; requests in other threads wait for it meanwhile."""
        try:
            with _starting:
                if self._process == os.getpid():
                    return running()
                self._process = os.getpid()
                return start_agent(self._config or followed()).tracer
        except ConfigError as error:
            # the server runs already, and the agent never raises into a running application
            say(logging.ERROR, "swagent is off: %s", error)
        except Exception as error:  # noqa: BLE001, RUF100  (it costs no request)
            say(logging.ERROR, "swagent is off", exc_info=error)
        return None

    def _follow(self, body: Any, environ: Environ, response: Response) -> Iterable[bytes]:
        """The body as the server gets it."""
        try:
            return _followed(body, environ, response)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, or a class that fails in `isinstance`)
            self.faults.note("following a response", error)
            response.end()
            return cast("Iterable[bytes]", body)


def _followed(body: Any, environ: Environ, response: Response) -> Iterable[bytes]:
    """The body as the server gets it: itself, if the server may recognise it by its class or its identity."""
    if _is_complete(body, response):
        response.end()
    elif not _is_file(body, environ):
        return (SizedPieces if hasattr(cast("Any", type(body)), "__len__") else Pieces)(body, response)
    else:
        _follow_file(body, response)
    return cast("Iterable[bytes]", body)


def _is_complete(body: Any, response: Response) -> bool:
    """Whether no part of the body is made while it is sent. The server refuses a value that is no body at all."""
    if isinstance(body, (list, tuple)):
        # a subclass may start the response in its own `__iter__`
        return response.request.status != 0
    return body is None or isinstance(body, (bytes, str))


def _is_file(body: object, environ: Environ) -> bool:
    """Whether the application has used the server's own way to send a file."""
    wrapper = environ.get("wsgi.file_wrapper")
    if isinstance(wrapper, type):
        return isinstance(body, wrapper)
    # uWSGI's and mod_wsgi's are functions: the first returns the file itself, the second an object that has it
    return wrapper is not None and (hasattr(body, "read") or hasattr(body, "filelike"))


def _follow_file(body: Any, response: Response) -> None:
    """Follow the end of a file that the system may send; if the file takes no attributes, the request ends at once."""
    close = getattr(body, "close", None)
    try:
        body.close = Pieces(_Closing(close or _do_nothing), response).close
    except Exception:  # noqa: BLE001, RUF100  (a class with slots, or one that looks after its attributes)
        response.end()


class _Closing:
    """Takes the place of a body of which only the end is followed."""

    def __init__(self, close: Callable[[], object]) -> None:
        self.close = close


def _do_nothing() -> None:
    """The `close` of a body that has none."""


def _begin_in_child() -> None:
    """A fork may have copied the lock while another thread held it."""
    global _starting  # noqa: PLW0603, RUF100
    _starting = threading.RLock()


at_fork(after_in_child=_begin_in_child)
