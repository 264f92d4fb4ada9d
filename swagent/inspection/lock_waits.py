"""The lock, semaphore, event, condition, queue or limiter that a task waits for: its class, the place, and its holder.

A wait has the name of the class, with the method where that is not the usual one: `asyncio.Lock`, `asyncio.Queue.get`,
`anyio.CapacityLimiter`. The outermost such function of a chain is the one that the code has called: anyio's are made of
asyncio's or trio's. A lock, a semaphore and a limiter have the place in the application's code as well.

A task that waits for a lock is woken by the one that releases it, within that call. So a wait that is named while its
task is woken finds its holder on the stack, which costs nothing to remember.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any

from . import anyio_inside, asyncio_inside, trio_inside
from .frames import place_of
from .installed_code import installed_folders
from .touched import Function, Local

_LOST = "the name of what a request waits for: a lock, a semaphore, a queue"
_ANYIO_CORE = "anyio._core._synchronization"
_FUNCTIONS = (
    *((asyncio_inside.LIBRARY, "asyncio.locks", name) for name in (
        "Lock.acquire", "Semaphore.acquire", "Condition.wait", "Event.wait",
    )),
    *((asyncio_inside.LIBRARY, "asyncio.queues", name) for name in ("Queue.get", "Queue.put", "Queue.join")),
    *((anyio_inside.LIBRARY, anyio_inside.MODULE, name) for name in (
        "Lock.acquire", "Semaphore.acquire", "CapacityLimiter.acquire_on_behalf_of", "Event.wait",
    )),
    *((anyio_inside.LIBRARY, _ANYIO_CORE, name) for name in (
        "Condition.wait", "LockAdapter.acquire", "SemaphoreAdapter.acquire",
        "CapacityLimiterAdapter.acquire_on_behalf_of", "EventAdapter.wait",
    )),
    *((trio_inside.LIBRARY, "trio._sync", name) for name in (
        "_LockImpl.acquire", "Semaphore.acquire", "CapacityLimiter.acquire_on_behalf_of", "Condition.wait",
        "Event.wait",
    )),
)  # fmt: skip
_HELD = frozenset(("acquire", "acquire_on_behalf_of"))
_RELEASES = frozenset(("release", "release_on_behalf_of"))
WAITS = tuple(Local(Function(library, module, name, _LOST), "self") for library, module, name in _FUNCTIONS)
_BY_PLACE = {each.place: each for each in WAITS}
_MODULES = frozenset(module for module, _ in _BY_PLACE)
_FILES = ("locks.py", "_asyncio.py", "_sync.py", "_synchronization.py")
_MOST_FRAMES = 30
_OF_AGENT = "swagent."


def is_held(code: Any) -> bool:
    """Whether a wait in this code may be one for a lock, whose name has places."""
    return getattr(code, "co_name", None) in _HELD and code.co_filename.endswith(_FILES)


def name_of_lock_wait(frames: Sequence[FrameType]) -> str:
    """What is waited for; empty: it is none of these.

    :param frames: those of the task that waits, the innermost first
    """
    found: tuple[int, Local] | None = None
    for number, frame in enumerate(frames):
        local = _BY_PLACE.get(place_of(frame))
        if local is not None:
            found = number, local
    if found is None:
        return ""
    number, local = found
    module, method = local.place
    name = f"{module.partition('.')[0]}.{_class_of(local.of(frames[number]), local)}"
    if method not in _HELD:
        return f"{name}.{method}"
    where, holder = _first_place(frames[number:]), _holder()
    return name + (f" at {where}" if where else "") + (f", held at {holder}" if holder else "")


def _class_of(thing: object, local: Local) -> str:
    """That of the library, also where the application has made a subclass of it."""
    for each in type(thing).__mro__:
        if each.__module__ in _MODULES or each.__module__.partition(".")[0] in ("trio", "anyio"):
            return each.__name__.removesuffix("Adapter")
    return local.function.name.partition(".")[0].strip("_")


def _holder() -> str:
    """The place that lets go of a lock just now; empty: none does."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    outside: list[FrameType] = []
    is_release = False
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        module, function = place_of(frame)
        is_release = is_release or (function in _RELEASES and module in _MODULES)
        if is_release:
            outside.append(frame)
        frame = frame.f_back
    return _first_place(outside)


def _first_place(frames: Iterable[FrameType]) -> str:
    """The innermost one that is neither a library's nor the agent's: `shop/stock.py:41`."""
    for frame in frames:
        path = frame.f_code.co_filename
        if not path.startswith(installed_folders()) and not place_of(frame)[0].startswith(_OF_AGENT):
            return f"{'/'.join(path.replace(chr(92), '/').split('/')[-2:])}:{frame.f_lineno}"
    return ""
