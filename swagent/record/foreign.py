"""Foreign code that the agent calls, such as the `__str__` of a value: which of its errors the application gets."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

_NAME: Any = type.__dict__["__name__"]
_ENDINGS: tuple[type[BaseException], ...] = (
    KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError,
)  # fmt: skip
# Other libraries' cancellations. An application that never imported the library cannot be cancelled by it.
_CANCELLATIONS = (("trio", "Cancelled"), ("greenlet", "GreenletExit"))


def must_reach_application(error: BaseException) -> bool:
    """Whether the error ends the thread, the task or the program, and so is not the agent's to keep.

    Everything else that foreign code raises stays with the agent, even an exception whose class does not derive from
    `Exception`: the application asked only for a tag or a log line.
    """
    # by the type alone: isinstance() would ask the error's own idea of its class as well
    kind = type(error)
    if issubclass(kind, _ENDINGS):
        return True
    named = [getattr(sys.modules.get(module), name, None) for module, name in _CANCELLATIONS]
    return any(isinstance(each, type) and issubclass(kind, each) for each in named)


def class_name(value: object) -> str:
    """The name of the value's class, whatever its metaclass says."""
    name: str = _NAME.__get__(type(value))
    # it may be of a type that has its own idea of every method
    return str.__str__(name)
