"""The origins of tasks: groups of asyncio, anyio and trio, and the functions of asyncio that begin a task on their own.

The function that begins a task is on the stack at that moment. Nothing else shows it: to asyncio, all tasks are alike.
"""

from __future__ import annotations

import weakref
from types import FrameType
from typing import Any, NamedTuple

from ..inspection import anyio_inside, asyncio_inside, trio_inside
from ..inspection.frames import is_own, place_of

_MAX_FRAMES = 12
_ASYNCIO_GROUPS = {
    asyncio_inside.GROUP_OF_NEW_TASK.place: (asyncio_inside.GROUP_OF_NEW_TASK, "asyncio.TaskGroup"),
    anyio_inside.GROUP_OF_NEW_TASK.place: (anyio_inside.GROUP_OF_NEW_TASK, "anyio.TaskGroup"),
}
_PASSED = frozenset({"asyncio.base_events", "asyncio.tasks", "asyncio.runners"})
_TRIO = frozenset({trio_inside.MODULE, trio_inside.INSTRUMENTS})


class Group(NamedTuple):
    """The object or function that began some tasks."""

    label: str
    ref: weakref.ref[object] | None
    number: int = 1
    """Which one of its kind in this request."""

    def is_of(self, group: object) -> bool:
        """Whether it is this group."""
        return self.ref is not None and self.ref() is group

    def opener(self) -> object:
        """The task that opened the group, and will not go on before all tasks of it have ended; None: it is not known,
        or there is none."""
        group: Any = self.ref() if self.ref is not None else None
        # trio's, asyncio's, anyio's
        return (
            getattr(group, "parent_task", None)
            or asyncio_inside.OPENER_OF_GROUP.of(group)
            or anyio_inside.HOST_OF_SCOPE.of(getattr(group, "cancel_scope", None))
        )

    def __str__(self) -> str:
        return self.label if self.number == 1 else f"{self.label} {self.number}"


NO_GROUP = Group("", None)


def asyncio_group(frame: FrameType | None) -> tuple[str, object]:
    """The kind of group, and the group, by the stack on which a task is made.

    :param frame: the innermost that is not ours
    """
    function = "create_task"
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        place = module, name = place_of(frame)
        found = _ASYNCIO_GROUPS.get(place)
        if found is not None:
            return found[1], found[0].of(frame)
        if module == "asyncio.tasks" and not name.startswith("_"):
            function = name
        elif module not in _PASSED and not is_own(place):
            break
        frame = frame.f_back
    return f"asyncio.{function}", None


def trio_group(frame: FrameType | None, nursery: object) -> tuple[str, object]:
    """As `asyncio_group`; what begins a task of trio's always is a nursery, anyio's groups among them."""
    for _ in range(_MAX_FRAMES):
        if frame is None or place_of(frame)[0] not in _TRIO:
            break
        frame = frame.f_back
    is_anyio = frame is not None and place_of(frame)[0] == anyio_inside.TRIO_MODULE
    return "anyio.TaskGroup" if is_anyio else "trio.Nursery", nursery
