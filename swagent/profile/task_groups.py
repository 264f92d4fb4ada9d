"""What begins tasks: groups of asyncio, anyio and trio, and the functions of asyncio that begin one by itself.

Whoever begins a task stands on the stack at that moment. Nothing else tells: to asyncio, all tasks are alike.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any, NamedTuple

OWN = "swagent.profile."
_MAX_FRAMES = 12
_ASYNCIO_GROUPS = {
    ("asyncio.taskgroups", "create_task"): "asyncio.TaskGroup",
    ("anyio._backends._asyncio", "_spawn"): "anyio.TaskGroup",
}
_PASSED = frozenset({"asyncio.base_events", "asyncio.tasks", "asyncio.runners"})
_TRIO = frozenset({"trio._core._run", "trio._core._instrumentation"})


class Group(NamedTuple):
    """What began some tasks."""

    label: str
    ref: weakref.ref[Any] | None
    number: int = 1
    """Which one of its kind in this request."""

    def is_of(self, group: object) -> bool:
        """Whether it is this group."""
        return self.ref is not None and self.ref() is group

    def opener(self) -> Any:
        """The task that opened the group, and will not go on before all tasks of it have ended; None: it is not known,
        or there is none."""
        group: Any = self.ref() if self.ref is not None else None
        # trio's, asyncio's, anyio's
        return (
            getattr(group, "parent_task", None)
            or getattr(group, "_parent_task", None)
            or getattr(getattr(group, "cancel_scope", None), "_host_task", None)
        )

    def __str__(self) -> str:
        return self.label if self.number == 1 else f"{self.label} {self.number}"


NO_GROUP = Group("", None)


def asyncio_group(frame: FrameType | None) -> tuple[str, Any]:
    """The kind of group, and the group, by the stack on which a task is made.

    :param frame: the innermost that is not ours
    """
    function = "create_task"
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        module, name = place_of(frame)
        label = _ASYNCIO_GROUPS.get((module, name))
        if label is not None:
            return label, frame.f_locals.get("self")
        if module == "asyncio.tasks" and not name.startswith("_"):
            function = name
        elif module not in _PASSED and not module.startswith(OWN):
            break
        frame = frame.f_back
    return f"asyncio.{function}", None


def trio_group(frame: FrameType | None, nursery: Any) -> tuple[str, Any]:
    """As `asyncio_group`; what begins a task of trio's always is a nursery, anyio's groups among them."""
    for _ in range(_MAX_FRAMES):
        if frame is None or place_of(frame)[0] not in _TRIO:
            break
        frame = frame.f_back
    is_anyio = frame is not None and place_of(frame)[0] == "anyio._backends._trio"
    return "anyio.TaskGroup" if is_anyio else "trio.Nursery", nursery


def outer_frame() -> FrameType | None:
    """The innermost frame that is not of these modules."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame is not None and place_of(frame)[0].startswith(OWN):
        frame = frame.f_back
    return frame


def place_of(frame: FrameType) -> tuple[str, str]:
    """The module and the function of a frame."""
    return str(frame.f_globals.get("__name__", "")), frame.f_code.co_name
