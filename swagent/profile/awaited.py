"""By what a request waits while all its tasks wait.

The request's own task shows it: the object that it awaits at the end of its chain. Where that is another task of the
request, or an object that waits for tasks (a group, `gather`), that task shows it: of several, the one that began first
and has not ended. So each instant has one name, and the times sum to what the request awaited.
"""

from __future__ import annotations

import json
from types import FrameType
from typing import Any

from ..inspection import anyio_inside, asyncio_inside, starlette_inside, trio_inside
from ..inspection.await_chain import Links, links_of
from ..inspection.frames import place_of
from ..record.bounded_cache import BoundedCache
from .request_tasks import RequestTasks
from .stacks import call_under_way, coroutine_of, name_of_end
from .task_record import TaskRecord

OTHER = "other"
_MAX_SHOWN = 8
_MAX_NAMES = 64
MAX_NAME = 100
_MAX_FOLLOWED = 16
# Functions that wait for tasks, and their local variable that leads to them: a group or the tasks.
_WAITS = {
    each.place: each
    for each in (
        asyncio_inside.GROUP_WAITED_FOR,
        asyncio_inside.WAITED_FOR,
        asyncio_inside.WAIT_FOR_FUTURE,
        anyio_inside.GROUP_WAITED_FOR,
        trio_inside.NURSERY_WAITED_FOR,
        starlette_inside.GROUP_WAITED_FOR,
    )
}
_WAITING = frozenset(function for _, function in _WAITS)
# So many frames are within such a function at most.
_MAX_WITHIN = 6
_QUOTED: BoundedCache[str, str] = BoundedCache(lambda name: json.dumps(name, ensure_ascii=False))
_SEVERAL = frozenset({list, tuple, set, frozenset})


class AwaitedTimes:
    """Of one request. For the thread of its loop."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, seconds: float, name: str) -> None:
        """All its tasks have waited for so long."""
        if name not in self._seconds and len(self._seconds) >= _MAX_NAMES:
            name = OTHER
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def text(self, total: float) -> str:
        """The longest ones in milliseconds, the rest as one; empty, where none has a millisecond.

        :param total: seconds that the request has awaited; what has no name here is a part of the rest
        """
        named = self._seconds
        longest = sorted((name for name in named if name != OTHER), key=named.__getitem__, reverse=True)[:_MAX_SHOWN]
        rest = _whole(total - sum(named[name] for name in longest))
        if rest > 0 and len(longest) == _MAX_SHOWN:
            rest = _whole(total - sum(named[name] for name in longest[:-1]))
            del longest[-1]
        shown = [f"[{_QUOTED[name]},{ms}]" for name in longest if (ms := _whole(named[name]))]
        if rest > 0 and named:
            shown.append(f"[{_QUOTED[OTHER]},{rest}]")
        return f"[{','.join(shown)}]" if shown else ""


def quoted(name: str) -> str:
    """A name as JSON has it."""
    return _QUOTED[name]


def _whole(seconds: float) -> int:
    return round(seconds * 1000)


def name_of_wait(tasks: RequestTasks) -> str:
    """The call or task that the request waits for now."""
    record, name = tasks.own, OTHER
    for _ in range(_MAX_FOLLOWED):
        context = record.context_now()
        if context is None or record.task is None:
            break
        name = call_under_way(context)
        if name:  # by far the cheapest answer
            break
        links = links_of(coroutine_of(record.task()))
        following = _awaited_task(links, tasks)
        name = name_of_end(links.awaited, links.frames()) if following is None else ""
        if following is None or following is record:
            break
        record = following
    return name or OTHER


def _awaited_task(links: Links, tasks: RequestTasks) -> TaskRecord | None:
    """The task of the request that a chain leads to; None: it leads to none."""
    found = _among(links.awaited, tasks) or _among(asyncio_inside.CHILDREN_OF_GATHER.of(links.awaited), tasks)
    if found is not None:
        return found
    for each in links.coroutines[: -_MAX_WITHIN - 1 : -1]:
        if getattr(getattr(each, "cr_code", None), "co_name", None) in _WAITING:
            found = _behind(each.cr_frame, tasks)
            if found is not None:
                break
    return found


def _behind(frame: FrameType | None, tasks: RequestTasks) -> TaskRecord | None:
    """The task that a function waits for, if it is one that waits for tasks."""
    variable = _WAITS.get(place_of(frame)) if frame is not None else None
    if frame is None or variable is None:
        return None
    awaited: Any = variable.of(frame)
    # anyio's on trio has a nursery
    group = anyio_inside.NURSERY_OF_GROUP.of(awaited, awaited)
    in_group = (record for record in tasks.unfinished() if record.group.is_of(group))
    return next(in_group, None) or _among(awaited, tasks)


def _among(awaited: Any, tasks: RequestTasks) -> TaskRecord | None:
    """The first of the request's tasks that is awaited, or is among what is."""
    if type(awaited) in _SEVERAL:
        return next((record for record in tasks.unfinished() if any(map(record.is_of, awaited))), None)
    return tasks.find(awaited) if awaited is not None else None
