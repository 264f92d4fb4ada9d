"""A WSGI environ as a scope, so that all requests are read, described and reported in one way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..request.scope import Scope

Environ = dict[str, Any]

SCOPE = "swagent.scope"
"""The key in the environ for the scope of a request. It also marks a traced request: a second middleware inside the
first passes it on, and the routes of frameworks are noted in the scope."""

_SENT_ALONG = (
    ("HTTP_HOST", b"host"),
    ("HTTP_SW8", b"sw8"),
    ("HTTP_SW8_CORRELATION", b"sw8-correlation"),
    ("HTTP_TRACEPARENT", b"traceparent"),
    ("HTTP_TRACESTATE", b"tracestate"),
)


def scope_of(environ: Environ, *, with_all_headers: bool) -> Scope:
    """The request of an environ, as an ASGI scope.

    :param with_all_headers: not only the headers that the agent reads: for `trust_incoming`, which may need any
    """
    client = environ.get("REMOTE_ADDR")
    headers = _headers(environ) if with_all_headers else _own_headers(environ)
    return {
        "type": "http",
        "method": environ["REQUEST_METHOD"],
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "path": path_of(environ),
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1", "replace"),
        "headers": list(headers),
        "client": (client, environ.get("REMOTE_PORT", "")) if client else None,
        "server": (environ.get("SERVER_NAME", ""), environ.get("SERVER_PORT", "")),
    }


def path_of(environ: Environ) -> str:
    """The whole path, mounts included."""
    return _text(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")) or "/"


def mounted_at(environ: Environ) -> str:
    """The part of the path that leads to the application."""
    return _text(environ.get("SCRIPT_NAME", ""))


def _text(native: str) -> str:
    """A text of the environ, in which each character is a byte (PEP 3333)."""
    return native if native.isascii() else native.encode("latin-1", "replace").decode("utf-8", "replace")


def _own_headers(environ: Environ) -> Iterator[tuple[bytes, bytes]]:
    for key, name in _SENT_ALONG:
        value = environ.get(key)
        if value is not None:
            yield name, value.encode("latin-1", "replace")


def _headers(environ: Environ) -> Iterator[tuple[bytes, bytes]]:
    for key, value in environ.items():
        if key.startswith("HTTP_"):
            yield key[5:].replace("_", "-").lower().encode("latin-1", "replace"), value.encode("latin-1", "replace")
