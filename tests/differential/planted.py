"""Differences that are put into a worker on purpose, as careless wrappers would make them: the harness has to find
them.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any


def _drop_keyword(call: Any, *args: Any, **kwargs: Any) -> Any:
    kwargs.pop("params", None)
    return call(*args, **kwargs)


def _swallow(call: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return call(*args, **kwargs)
    except Exception:
        return None


def _chain(call: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return call(*args, **kwargs)
    except Exception as error:
        raise error from LookupError("of a wrapper")


def _warn(call: Any, *args: Any, **kwargs: Any) -> Any:
    warnings.warn("of a wrapper", DeprecationWarning, stacklevel=1)
    return call(*args, **kwargs)


def _leave_descriptor(call: Any, *args: Any, **kwargs: Any) -> Any:
    os.open(os.devnull, os.O_RDONLY)
    return call(*args, **kwargs)


def _leave_thread(call: Any, *args: Any, **kwargs: Any) -> Any:
    threading.Thread(target=threading.Event().wait, daemon=True, name="left").start()
    return call(*args, **kwargs)


async def _wait_more(call: Any, *args: Any, **kwargs: Any) -> Any:
    import anyio.lowlevel

    await anyio.lowlevel.checkpoint()
    return await call(*args, **kwargs)


def _pass_on(call: Any, *args: Any, **kwargs: Any) -> Any:
    return call(*args, **kwargs)


class Planted:
    """A careless wrapper, the function that it goes around, and the world that has to see it."""

    def __init__(self, wrapper: Callable[..., Any], module: str, owner: str, function: str, world: str) -> None:
        self.wrapper = wrapper
        self.module, self.owner, self.function = module, owner, function
        self.world = world


PLANTED = {
    "drops a keyword": Planted(_drop_keyword, "httpx", "Client", "request", "httpx"),
    "swallows an exception": Planted(_swallow, "sqlite3", "", "connect", "sqlite3"),
    "chains an exception": Planted(_chain, "httpx", "Client", "send", "httpx"),
    "is no coroutine function": Planted(_pass_on, "httpx", "AsyncClient", "send", "httpx-async"),
    "waits once more": Planted(_wait_more, "httpx", "AsyncClient", "send", "httpx-async"),
    "warns": Planted(_warn, "httpx", "Client", "send", "httpx"),
    "leaves a descriptor": Planted(_leave_descriptor, "httpx", "Client", "send", "httpx"),
    "leaves a thread": Planted(_leave_thread, "httpx", "Client", "send", "httpx"),
}


def plant(name: str) -> None:
    """Put one of them into this process."""
    planted = PLANTED[name]
    module = import_module(planted.module)
    owner: Any = getattr(module, planted.owner) if planted.owner else module
    original = getattr(owner, planted.function)
    if planted.wrapper is _wait_more:

        @functools.wraps(original)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await _wait_more(original, *args, **kwargs)

    else:

        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return planted.wrapper(original, *args, **kwargs)

    setattr(owner, planted.function, wrapper)
