"""Functions of a library that are called with other arguments: with a class, a callback or an application that records.
As in `wrapping.py`, an error leaves the call unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .arguments import Args, Kwargs, with_changed
from .call import safely
from .patches import Make


def rewriting_call(rewrite: Callable[[Args, Kwargs], tuple[Args, Kwargs]]) -> Make:
    """For `Patches.wrap`: a function that is called with other arguments.

    :param rewrite: gets the arguments, the object whose method it is among them, and gives those to call with
    """

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def rewritten(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = safely(rewrite, args, kwargs) or (args, kwargs)
            return call(*args, **kwargs)

        async def rewritten_async(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = safely(rewrite, args, kwargs) or (args, kwargs)
            return await call(*args, **kwargs)

        return rewritten_async if inspect.iscoroutinefunction(call) else rewritten

    return make


def rewriting_argument(place: int, name: str, change: Callable[[Any], Any]) -> Make:
    """As `rewriting_call`, for one argument.

    :param place: by position, counted with the object whose method it is
    :param change: gets the argument, None where it is not given, and gives what to pass on
    """
    return rewriting_call(lambda args, kwargs: with_changed(args, kwargs, place, name, change))
