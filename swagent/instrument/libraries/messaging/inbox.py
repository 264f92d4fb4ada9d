"""Consumers that hand messages out: the span of a message lasts until the next one is asked for.

It ends, too, when the loop over the consumer is left, and when the consumer is closed or let go. In a thread of a pool
it also ends with the piece of work that asked for the message: the next work in that thread is not part of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import ReferenceType, ref

from ....inspection.executor_threads import future_of_work
from ....inspection.frames import outer_frame
from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...call import safely
from ...looking import before_call
from ...patches import Make
from ...subclass import own_attribute

INBOX = "_swagent_inbox"
"""The attribute of a consumer that holds its inbox."""
_BATCHES = (dict, list)
Receive = Callable[..., "Span | None"]
"""Gets a consumer, what it hands out, and the arguments of the call. None: there is no message."""


class Inbox:
    """The message or batch that one consumer returned last.

    :ivar is_off: whether the application opens the spans itself, by `swagent.messages.consume`
    """

    __slots__ = ("__weakref__", "_span", "_work", "is_off")

    def __init__(self) -> None:
        self._span: Span | None = None
        self._work: ReferenceType[Future[Any]] | None = None
        self.is_off = False

    def receive(self, begin: Callable[..., Span | None], *args: Any) -> None:
        """Begin the span of a message, or of a batch."""
        if not self.is_off:
            self._span = begin(*args)
            if self._span is not None:
                self._end_with_work()

    def _end_with_work(self) -> None:
        """In a pool's thread, end the last message's span when this piece of work is done."""
        work = future_of_work(outer_frame())
        if work is not None and (self._work is None or self._work() is not work):
            self._work = ref(work)
            # called in this thread
            work.add_done_callback(partial(_end_of, ref(self)))

    def end(self) -> None:
        """End the last message's span."""
        span, self._span = self._span, None
        if span is not None:
            span.stop()

    def __del__(self) -> None:
        with suppress(Exception):
            self.end()


def _end_of(inbox: ReferenceType[Inbox], _: object) -> None:
    found = inbox()
    if found is not None:
        safely(found.end)


def inbox_of(consumer: Any) -> Inbox:
    """A consumer's inbox; it is kept in the consumer, and goes with it."""
    inbox: Inbox | None = own_attribute(consumer, INBOX)
    if inbox is None:
        inbox = Inbox()
        object.__setattr__(consumer, INBOX, inbox)
    return inbox


def handing_out(begin: Receive) -> Make:
    """For `Patches.wrap`: a method by which a consumer hands out messages. That it is asked ends the span of the last
    one; the span of the next is the active one when it comes."""

    def make(ask: Callable[..., Any]) -> Callable[..., Any]:
        def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
            safely(_end_last, self)
            found = ask(self, *args, **kwargs)
            if found is not None and (type(found) not in _BATCHES or found):
                safely(_receive, begin, self, found, args, kwargs)
            return found

        async def traced_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            safely(_end_last, self)
            found = await ask(self, *args, **kwargs)
            if found is not None and (type(found) not in _BATCHES or found):
                safely(_receive, begin, self, found, args, kwargs)
            return found

        return traced_async if inspect.iscoroutinefunction(ask) else traced

    return make


def _receive(begin: Receive, consumer: Any, found: Any, args: Args, kwargs: Kwargs) -> None:
    inbox_of(consumer).receive(begin, consumer, found, args, kwargs)


def leave_to_caller(consumer: Any) -> None:
    """Let `swagent.messages.consume` open the spans of an iterator's messages: it knows more."""
    inbox_of(consumer).is_off = True


def _end_last(consumer: Any, *_: object) -> None:
    inbox: Inbox | None = own_attribute(consumer, INBOX)
    if inbox is not None:
        inbox.end()


ending_last = before_call(_end_last)
"""For `Patches.wrap`: a method after which a consumer hands nothing out."""


class _Loop:
    """A loop over a consumer that is its own iterator. Once the loop is left, the last message is done."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._inbox = inbox_of(consumer)

    def __getattr__(self, name: str) -> Any:
        # the application may know that a consumer's iterator is the consumer itself
        return getattr(self.__dict__["_consumer"], name)

    def swagent_leaves_to_caller(self) -> None:
        """Asked by `swagent.messages.consume`, whose spans know more."""
        self._inbox.is_off = True

    def __del__(self) -> None:
        with suppress(Exception):
            self._inbox.is_off = False
            self._inbox.end()


class MessageLoop(_Loop):
    """A `for` loop."""

    def __iter__(self) -> MessageLoop:
        return self

    def __next__(self) -> Any:
        return next(self._consumer)


class AsyncMessageLoop(_Loop):
    """An `async for` loop."""

    def __aiter__(self) -> AsyncMessageLoop:
        return self

    def __anext__(self) -> Any:
        return self._consumer.__anext__()


def loop_over(loop: type[_Loop]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes the `__iter__` or `__aiter__` of a consumer that gives itself give a loop instead."""

    def around(make_iterator: Callable[..., Any]) -> Callable[..., Any]:
        def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
            found = make_iterator(self, *args, **kwargs)
            return (safely(loop, self) or found) if found is self else found

        return traced

    return around
