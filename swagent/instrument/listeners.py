"""Functions of the application's that are shown the calls of a library: `instrument("httpx", on_request=...)`.

They are called with a span that is open, inside the application's own call. An error of theirs never reaches that call;
the first one of each is logged. Only exceptions that end the task or the program pass.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from ..agent_log import say
from ..errors import ConfigError
from ..record.foreign import must_reach_application
from ..record.trace.span import Span

OnCall = Callable[[Span, Any], object]
"""Gets the call's span, and the request or the response as the library has it."""


class Listener:
    """One such function."""

    __slots__ = ("_function", "_has_failed", "_name")

    def __init__(self, name: str, function: OnCall) -> None:
        """:raises ConfigError: it is no function, or a coroutine function, whose result would never be awaited"""
        if not callable(function) or inspect.iscoroutinefunction(function):
            raise ConfigError(name, function, "a function that is not async")
        self._name = name
        self._function = function
        self._has_failed = False

    def show(self, span: Span, find: Callable[..., Any], *args: Any) -> None:
        """Call it.

        :param find: finds with these arguments what the function is to see
        """
        try:
            self._function(span, find(*args))
        except BaseException as error:  # noqa: BLE001, RUF100  (the application's call has nothing to do with it)
            if must_reach_application(error):
                # as the active one of this context it would swallow every call after it
                span.stop()
                raise
            if not self._has_failed:
                self._has_failed = True
                message = "%s of instrument() failed: the call goes on, and later failures are not logged"
                say(logging.WARNING, message, self._name, exc_info=error)


class Listeners:
    """Those of one instrumentation.

    :ivar on_request: gets what is sent; None: there is none
    :ivar on_response: gets what comes back; None: there is none
    """

    __slots__ = ("on_request", "on_response")

    def __init__(self, on_request: OnCall | None = None, on_response: OnCall | None = None) -> None:
        """:raises ConfigError: one of them is no function, or a coroutine function"""
        self.on_request = None if on_request is None else Listener("on_request", on_request)
        self.on_response = None if on_response is None else Listener("on_response", on_response)
