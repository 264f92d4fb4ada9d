"""How a library's calls begin and end where the application wants to see them, see `listeners.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.trace.span import Span
from .arguments import Args, Kwargs
from .listeners import Listener, Listeners
from .wrapping import Begin, Finish, end_well


def showing(
    listeners: Listeners, begin: Begin, request_of: Callable[[Any, Args, Kwargs], Any], finish: Finish = end_well
) -> tuple[Begin, Finish]:
    """A call's `Begin` and `Finish` that show the request and the response. Without listeners these are
    the library's own.

    :param request_of: finds the request: gets the object whose method is called, and the arguments
    """
    shown = showing_request(listeners.on_request, begin, request_of)
    return shown, showing_response(listeners.on_response, finish)


def showing_request(
    listener: Listener | None, begin: Begin, request_of: Callable[[Any, Args, Kwargs], Any]
) -> Begin:  # fmt: skip
    """The part of `showing` that begins a call."""
    if listener is None:
        return begin

    def begin_and_show(self: Any, args: Args, kwargs: Kwargs) -> Span | None:
        span = begin(self, args, kwargs)
        if span is not None:
            listener.show(span, request_of, self, args, kwargs)
        return span

    return begin_and_show


def showing_response(listener: Listener | None, finish: Finish) -> Finish:
    """The part of `showing` that ends a call."""
    if listener is None:
        return finish

    def show_and_finish(span: Span, result: Any, *call: Any) -> None:
        listener.show(span, _itself, result)
        finish(span, result, *call)

    return show_and_finish


def showing_received(listener: Listener | None, begin: Callable[..., Span | None]) -> Callable[..., Span | None]:
    """A function that begins the span of messages that came in, and shows them.

    :param listener: that for responses
    :param begin: gets the consumer, and the message or the batch as the library hands it out
    """
    if listener is None:
        return begin

    def begin_and_show(consumer: Any, received: Any, *call: Any) -> Span | None:
        span = begin(consumer, received, *call)
        if span is not None:
            listener.show(span, _itself, received)
        return span

    return begin_and_show


def _itself(result: Any) -> Any:
    return result
