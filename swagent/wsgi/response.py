"""A response on its way to the server: its status, its pieces and its end.

A list of pieces is complete when the application returns it: its request ends there, and the server gets the list
itself, whose length it may look at. Everything else may be made while it is sent. It is handed on piece by piece, with
the request active in each step, and the request ends with the last piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..asgi.pending import PendingRequest
from ..record.trace.context import current, switch
from ..record.trace.outcome import Outcome, outcome_of
from .scope import Environ

StartResponse = Callable[..., Callable[[bytes], object]]
App = Callable[[Environ, StartResponse], Iterable[bytes]]

# They have no body, whatever the application returns: a server need not ask for it.
_WITHOUT_BODY = frozenset({204, 304})
_UNKNOWN = -1


class Response:
    """What is known of one response.

    The thread that serves it serves others as well: what was active in it comes back after each step, whatever the
    application has left there.

    :ivar rest: how many bytes of the body are to come, as far as the application has said
    """

    __slots__ = ("_error", "_inside", "_start", "request", "rest")

    def __init__(self, request: PendingRequest, start_response: StartResponse) -> None:
        self.request = request
        self.rest = _UNKNOWN
        self._inside: Any = request
        self._start = start_response
        self._error: BaseException | None = None

    def start(self, status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Callable[[bytes], object]:
        """The `start_response` that the application calls."""
        try:
            self._note(status, headers, exc_info)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, or a status that the server will judge)
            self.request.faults.note("following a response", error)
        return self._start(status, headers, *exc_info)

    def _note(self, status: str, headers: list[tuple[str, str]], exc_info: tuple[Any, ...]) -> None:
        self.request.status = int(status[:3])
        self.rest = _UNKNOWN
        for name, value in headers:
            if len(name) == 14 and name.lower() == "content-length":
                self.rest = int(value)
        if exc_info and exc_info[0]:
            self._note_error(exc_info[0][1])

    def enter(self) -> Any:
        """Make active what was it at the end of the last step; returns what was active before."""
        outside = current.get()
        switch(current, self._inside)
        return outside

    def leave(self, outside: Any) -> None:
        """The end of a step.

        :param outside: as `enter` gave it
        """
        inside = current.get()
        self._inside = self.request if self.request.ended else inside
        switch(current, outside)

    def end(self, error: BaseException | None = None) -> None:
        """The request is over."""
        request = self.request
        try:
            if not request.ended:
                if error is not None:
                    self._note_error(error)
                request.finish()
        except Exception as fault:  # noqa: BLE001, RUF100  (ours)
            request.faults.note("ending the span of a request", fault)
        self._error = None

    def cut_off(self) -> None:
        """The server wants no more of a body that has not come to its end: its client is gone."""
        request = self.request
        if not request.ended and request.status not in _WITHOUT_BODY and request.scope["method"] != "HEAD":
            span = request.to_span()
            if span is not None:
                span.tag_outcome(Outcome.CANCELLED)
        self.end()

    def _note_error(self, error: BaseException) -> None:
        """An error of the application's. The server gets it back where it cannot answer by its own page any more."""
        if error is self._error:
            return
        self._error = error
        outcome = outcome_of(error)
        span = self.request.to_span() if outcome is not Outcome.OK else None
        if span is None:
            return
        if outcome is Outcome.FAILED or isinstance(error, Exception):
            span.error(error)
            # what a server answers for an application that raised before it answered
            self.request.status = self.request.status or 500
        else:
            span.tag_outcome(outcome)


class Pieces:
    """A body that is made while it is sent."""

    __slots__ = ("_body", "_has_begun", "_next", "_response")

    def __init__(self, body: Iterable[bytes], response: Response) -> None:
        self._body = body
        self._response = response
        self._next: Callable[[], bytes] | None = None
        self._has_begun = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        response = self._response
        self._has_begun = True
        # the server may ask for each piece in another thread, and serve other requests in between
        outside = response.enter()
        try:
            if self._next is None:
                self._next = iter(self._body).__next__
            piece = self._next()
        except StopIteration:
            response.end()
            raise
        except BaseException as error:
            response.end(error)
            raise
        finally:
            response.leave(outside)
        if response.rest >= 0:
            response.rest -= len(piece)
            if response.rest <= 0:
                # before the last byte: the client may not see the end of a request sooner than its span does
                response.end()
        return piece

    def close(self) -> None:
        """The server is done with it."""
        response = self._response
        outside = response.enter()
        error: BaseException | None = None
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        except BaseException as raised:
            error = raised
            raise
        finally:
            if error is None and self._has_begun and not response.request.ended:
                response.cut_off()
            else:
                response.end(error)
            error = None  # or it would hold this frame, and this frame it
            response.leave(outside)
