"""Looks at a library's calls, before, after and at the end of them. The call itself is passed on as it was made."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .arguments import Args, Kwargs
from .call import note_failure, safely
from .patches import Make

Look = Callable[[Any, Args, Kwargs], object]
"""Gets the object whose method is called, and the arguments."""
LookBack = Callable[[Any, Any, Args, Kwargs], object]
"""Gets the object whose method was called, what that has returned, and the arguments."""


def before_call(look: Look) -> Make:
    """For `Patches.wrap`: a method whose calls are looked at first."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def looked_at(self: Any, *args: Any, **kwargs: Any) -> Any:
            safely(look, self, args, kwargs)
            return call(self, *args, **kwargs)

        async def looked_at_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            safely(look, self, args, kwargs)
            return await call(self, *args, **kwargs)

        return looked_at_async if inspect.iscoroutinefunction(call) else looked_at

    return make


def before_function(look: Callable[[Args, Kwargs], object]) -> Make:
    """As `before_call`, for a plain function, or for a method that takes arguments of any name.

    :param look: gets the arguments, the object whose method it is among them
    """

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def looked_at(*args: Any, **kwargs: Any) -> Any:
            safely(look, args, kwargs)
            return call(*args, **kwargs)

        return looked_at

    return make


def after_call(look: LookBack) -> Make:
    """For `Patches.wrap`: a method of whose calls the results are looked at."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def looked_at(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = call(self, *args, **kwargs)
            safely(look, self, result, args, kwargs)
            return result

        async def looked_at_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = await call(self, *args, **kwargs)
            safely(look, self, result, args, kwargs)
            return result

        return looked_at_async if inspect.iscoroutinefunction(call) else looked_at

    return make


def at_end_of_call(end: Callable[[Any], object]) -> Make:
    """For `Patches.wrap`: a method at whose end, whatever that is, its object is looked at."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def looked_at(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return call(self, *args, **kwargs)
            finally:
                # as `safely`, without its call: each body of a response ends here
                try:
                    end(self)
                except BaseException as error:  # noqa: BLE001, RUF100  (the library's objects may have a will of their own)
                    note_failure(end, error)

        async def looked_at_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return await call(self, *args, **kwargs)
            finally:
                # as `safely`, without its call: each body of a response ends here
                try:
                    end(self)
                except BaseException as error:  # noqa: BLE001, RUF100  (the library's objects may have a will of their own)
                    note_failure(end, error)

        return looked_at_async if inspect.iscoroutinefunction(call) else looked_at

    return make
