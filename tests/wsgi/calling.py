"""WSGI by hand: environs, one request as a server makes it, and an application with a middleware and a collector in
memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any
from wsgiref.util import setup_testing_defaults

from asgi.calling import TracedBy, traced_by
from swagent.wsgi import SkyWalkingMiddleware
from swagent.wsgi.response import App, StartResponse
from swagent.wsgi.scope import Environ


def environ_of(path: str = "/", method: str = "GET", **others: Any) -> Environ:
    environ: Environ = {}
    setup_testing_defaults(environ)
    return {**environ, "REQUEST_METHOD": method, "PATH_INFO": path, "SCRIPT_NAME": "", "QUERY_STRING": "",
            "HTTP_HOST": "shop.test", "REMOTE_ADDR": "192.0.2.1", "REMOTE_PORT": "5000", **others}  # fmt: skip


@dataclass
class Answer:
    """The response that a server would have sent."""

    status: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    body: bytes = b""


def ask(app: App, environ: Environ, *, pieces: int | None = None, each: Callable[[], object] = int) -> Answer:
    """Make one request of an application, as a server does.

    :param pieces: after how many pieces of the body the client is gone
    :param each: called after each piece
    """
    answer = Answer()

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
        if exc_info and answer.body:
            raise exc_info[1].with_traceback(exc_info[2])
        answer.status, answer.headers = status, headers
        return write

    def write(data: bytes) -> None:
        answer.body += data

    body = app(environ, start_response)
    try:
        for number, piece in enumerate(body):
            answer.body += piece
            each()
            if number + 1 == pieces:
                break
    finally:
        if hasattr(body, "close"):
            body.close()
    return answer


def answers(status: str = "200 OK", *pieces: bytes) -> App:
    """An application that answers every request alike."""
    return returning(lambda: list(pieces), ("Content-Type", "text/plain"), status=status)


def returning(make: Callable[[], Any], *headers: tuple[str, str], status: str = "200 OK") -> App:
    """An application that starts its response and then returns what a function makes."""

    def app(environ: Environ, start_response: StartResponse) -> Any:
        start_response(status, [*headers])
        return make()

    return app


def traced(app: App, **config: Any) -> AbstractAsyncContextManager[TracedBy[SkyWalkingMiddleware]]:
    """The application behind a middleware, with an agent of its own around it."""
    return traced_by(lambda agent: SkyWalkingMiddleware(app, agent=agent), **config)
