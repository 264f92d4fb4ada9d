"""granian's own interface, RSGI: a coroutine function that gets a scope and a protocol, which it answers through.

The request ends when the application has. A status that it has sent counts, whatever the application raises later; one
that it never sends is granian's 500.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....hosting.late_start import start_now
from ....record.trace.model import Component
from ....request.pending import PendingRequest
from ...call import safely
from .server_request import begin_request, end_request, note_error

_SWITCHED = 101
_FAILED = 500
_REJECTED = 403


def wrap_rsgi(callback: Any) -> Callable[..., Any]:
    """The application, recorded. It is served in this process and from now on, so the agent starts, under
    `swagent run`."""
    start_now()

    async def recorded(scope: Any, protocol: Any) -> Any:
        request = safely(_begin, scope)
        if request is None:
            return await callback(scope, protocol)
        answered = _Protocol(protocol)
        try:
            return await callback(scope, answered)
        except BaseException as error:
            answered.swagent_status = answered.swagent_status or _FAILED
            safely(note_error, request, error, 0)
            raise
        finally:
            # granian answers in the place of an application that does not
            unanswered = _FAILED if scope.proto == "http" else _REJECTED
            safely(end_request, request, answered.swagent_status or unanswered)

    return recorded


def _begin(scope: Any) -> PendingRequest | None:
    host, _, port = scope.client.rpartition(":")
    client = (host, int(port)) if port.isdecimal() else None
    return begin_request(
        Component.PYTHON, scope.method, scope.scheme, scope.path, scope.headers.items(), client, scope.query_string
    )


class _Protocol:
    """granian's protocol, of which the status is known that goes out first."""

    __slots__ = ("_inner", "swagent_status")

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.swagent_status = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name.startswith("response_"):
            return self._answering(found)
        return self._accepting(found) if name == "accept" else found

    # of the protocol's class, where Python looks for them

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner(*args, **kwargs)

    def __aiter__(self) -> Any:
        return self._inner.__aiter__()

    def _answering(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        def answering(*args: Any, **kwargs: Any) -> Any:
            result = answer(*args, **kwargs)
            self._note(args[0] if args else kwargs.get("status"))
            return result

        return answering

    def _accepting(self, accept: Callable[..., Any]) -> Callable[..., Any]:
        def accepting(*args: Any, **kwargs: Any) -> Any:
            self._note(_SWITCHED)
            return accept(*args, **kwargs)

        return accepting

    def _note(self, status: Any) -> None:
        if not self.swagent_status and type(status) is int:
            self.swagent_status = status
