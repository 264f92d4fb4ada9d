"""A response on its way to the server: its status, its pieces and its end.

A list of pieces is complete when the application returns it: its request ends there, and the server gets the list
itself, because it may use the length. Any other body may be made while it is sent. It is passed on piece by piece, with
the request active in each step, and the request ends with the last piece.

The application and the server see no difference: an iterator of headers is not used up, a body with a length keeps its
length, and a mistake of either side fails as it would without this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from ..record.trace.context import current, switch
from ..record.trace.outcome import Outcome
from ..request.answered import take_handled
from ..request.failure import note_error
from ..request.pending import PendingRequest
from .scope import Environ
from .thread_clock import ThreadClock

StartResponse = Callable[..., Callable[[bytes], object]]
App = Callable[[Environ, StartResponse], Iterable[bytes]]

# They have no body, whatever the application returns: a server need not ask for it.
_WITHOUT_BODY = frozenset({204, 304})
_UNKNOWN = -1


class Response:
    """The state of one response. The application calls it as its `start_response`, and it has the same attributes.

    A thread serves several requests in turn: after each step, the entry that was active before the step is active
    again, even if the application has left another one.

    :ivar rest: the bytes of the body that are still to come, by the length in the headers; -1: not known
    """

    __slots__ = ("__weakref__", "_clock", "_error", "_inside", "_start", "request", "rest")

    def __init__(
        self, request: PendingRequest, start_response: StartResponse, clock: ThreadClock | None = None
    ) -> None:
        """:param clock: that of the request, if its time is split. A step is under way"""
        self.request = request
        self._clock = clock
        self.rest = _UNKNOWN
        self._inside: Any = request
        self._start = start_response
        self._error: BaseException | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Callable[[bytes], object]:
        """Start the response. The parameters have the names that the server gives them."""
        before = self.request.status, self.rest
        is_error = False
        try:
            is_error = self._note(args, kwargs)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, or a status that the server will judge)
            self.request.faults.note("following a response", error)
        try:
            return self._start(*args, **kwargs)
        except BaseException:
            if not is_error:
                # refused: the response is the one that was started before
                self.request.status, self.rest = before
            raise

    def __getattr__(self, name: str) -> Any:
        # a copy has no `_start` yet, and must not look for it here again
        return getattr(object.__getattribute__(self, "_start"), name)

    @property
    def __wrapped__(self) -> StartResponse:
        """The server's `start_response`, which has the same signature."""
        return self._start

    def _note(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """:returns: whether the application has called it because of an error"""
        status, headers, exc_info = _arguments(*args, **kwargs)
        self.request.status = int(status[:3])
        self.rest = _UNKNOWN
        # an iterator of headers can be read only once, and the server needs it
        if type(headers) in (list, tuple):
            for header in cast("list[Any]", headers):
                if type(header) is not tuple:
                    continue
                name, value = cast("tuple[str, str]", header)
                if len(name) == 14 and name.lower() == "content-length":
                    self.rest = int(value)
        handled = take_handled(self.request)
        if handled is not None and self.request.status >= 500:
            self._note_error(handled)
        if not exc_info or exc_info[1] is None:
            return False
        self._note_error(exc_info[1])
        return True

    def enter(self) -> Any:
        """Make the entry active that was active at the end of the last step.

        :returns: the entry that was active before
        """
        outside = current.get()
        switch(current, self._inside)
        if self._clock is not None:
            self._clock.begin_step()
        return outside

    def leave(self, outside: Any) -> None:
        """The end of a step.

        :param outside: as `enter` gave it
        """
        if self.request.ended:
            self._inside = self.request
            self._clock = None
        else:
            self._inside = current.get()
            if self._clock is not None:
                self._clock.end_step()
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

    def count(self, piece: object) -> None:
        """A piece goes out of a body whose length is known."""
        if not isinstance(piece, bytes):
            # the server decides about that
            self.rest = _UNKNOWN
            return
        self.rest -= len(piece)
        if self.rest <= 0:
            # before the last byte: the client may not see the end of a request sooner than its span does
            self.end()

    def cut_off(self) -> None:
        """The server wants no more of a body that has not come to its end: its client is gone."""
        request = self.request
        if not request.ended and request.status not in _WITHOUT_BODY and request.scope["method"] != "HEAD":
            span = request.to_span()
            if span is not None:
                span.tag_outcome(Outcome.CANCELLED)
        self.end()

    def _note_error(self, error: BaseException) -> None:
        """Note an error of the application once: the application may report it here and then raise it."""
        if error is self._error:
            return
        self._error = error
        if note_error(self.request, error):
            # the status that a server sends for an application that raised before its response
            self.request.status = self.request.status or 500


def _arguments(
    status: str, headers: object = None, exc_info: Any = None, *, response_headers: object = None
) -> tuple[str, object, Any]:
    """The arguments of `start_response`. Servers have two names for its headers."""
    return status, response_headers if headers is None else headers, exc_info


class Pieces:
    """A body that is made while it is sent. Its attributes are those of the application's body."""

    __slots__ = ("__weakref__", "_body", "_has_begun", "_next", "_response")

    def __init__(self, body: Any, response: Response) -> None:
        self._body = body
        self._response = response
        # it fails for a body that is no iterator, as it would without this, until `iter` is called
        self._next: Callable[[], bytes] = partial(next, body)
        self._has_begun = False

    def __iter__(self) -> Iterator[bytes]:
        response = self._response
        outside = response.enter()
        try:
            self._next = iter(self._body).__next__
        except BaseException as error:
            response.end(error)
            raise
        finally:
            response.leave(outside)
        return self

    def __next__(self) -> bytes:
        response = self._response
        self._has_begun = True
        # the server may ask for each piece in another thread, and serve other requests in between
        outside = response.enter()
        try:
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
            response.count(piece)
        return piece

    def close(self) -> None:
        """The server is done with it."""
        response = self._response
        outside = response.enter()
        error: BaseException | None = None
        try:
            if hasattr(self._body, "close"):
                self._body.close()
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

    def __getattr__(self, name: str) -> Any:
        # as in `Response`
        return getattr(object.__getattribute__(self, "_body"), name)


class SizedPieces(Pieces):
    """The same of a body that has a length: a server that sees one piece need not ask for the length of the content."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self._body)
