"""Profiles: the tasks that were made here or elsewhere, and the merged stacks of one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ..store.database import Row
from ..store.profile_tasks import ProfileTask, Progress
from ..store.store import Store
from .merged_stacks import MergedStacks
from .pieces import pieces

Answer = dict[str, Any]
# Seconds: an instance that has not asked for so long asks no more. Agents ask every 20 seconds.
_ASKING = 120
_EVER = 2**62
_COUNTED = """
SELECT segment, count(*), min(time), max(time) FROM snapshots WHERE task = :task AND sequence > 0
AND (:trace = '' OR segment IN (SELECT segment FROM segments WHERE trace = :trace)) GROUP BY segment
"""
_SEGMENTS = """
SELECT segment, trace, instance, service, endpoint, start, took FROM segments
WHERE id > :low AND id <= :high AND segment IN (SELECT value FROM json_each(:wanted))
"""
_TASKS = """
SELECT DISTINCT task FROM snapshots
WHERE :trace = '' OR segment IN (SELECT segment FROM segments WHERE trace = :trace)
"""


def profiles(store: Store, trace_id: str, now: float) -> Answer:
    """The tasks with their segments, the newest first.

    :param trace_id: leave out what has no stack of this trace; empty: nothing
    :param now: seconds since the epoch
    """
    version = store.version
    made = {each.task.id: each for each in reversed(store.profiles())}
    seen = {task for (task,) in store.read(_TASKS, {"trace": trace_id})}
    # those of another collector come last: the time at which they were made is not known
    wanted = [task for task in made if not trace_id or task in seen] + sorted(seen - made.keys())
    segments = _segments(store, wanted, trace_id)
    asking = _asking(store, now)
    return {
        "version": version,
        "asking": asking,
        "tasks": [_task(task, made.get(task), segments[task], asking, now) for task in wanted],
    }


def profile(store: Store, merged: MergedStacks, task: str, filters: Mapping[str, Any], now: float) -> Answer | None:
    """One task, and its stacks merged; None when nothing is known of it.

    :param filters: of `segment`, `from`, `to` those that apply; the others leave out no stack
    :param now: seconds since the epoch
    """
    version = store.version
    progress = next((each for each in store.profiles() if each.task.id == task), None)
    segments = (_segments(store, [task], ""))[task]
    if progress is None and not segments:
        return None
    wanted = [each["segment_id"] for each in segments if filters.get("segment") in (None, each["segment_id"])]
    nodes, left_out = merged.ask(task, wanted, filters.get("from", -1), filters.get("to", _EVER))
    head = _task(task, progress, segments, _asking(store, now), now)
    return {"version": version, **head, "left_out": left_out, "nodes": nodes}


def task_answer(task: ProfileTask) -> Answer:
    """The task as it was ordered."""
    return {
        "id": task.id,
        "service": task.service,
        "endpoint": task.endpoint,
        "seconds": task.seconds,
        "period_ms": task.period,
        "samples": task.samples,
        "min_ms": task.min_ms,
        "created": task.created,
    }


def _task(
    task: str, progress: Progress | None, segments: list[Answer], asking: Mapping[str, int], now: float
) -> Answer:
    if progress is None:
        first = next((each for each in segments if each["trace_id"]), {"service": "", "endpoint": ""})
        known = {"id": task, "service": first["service"], "endpoint": first["endpoint"], "state": "elsewhere"}
        return {**known, "segments": segments}
    return {
        **task_answer(progress.task),
        "state": progress.state(int(now * 1000)),
        "taken": progress.taken,
        "finished": progress.finished,
        "asking": asking.get(progress.task.service, 0),
        "segments": segments,
    }


def _asking(store: Store, now: float) -> dict[str, int]:
    """How many instances of each service ask for tasks."""
    found: defaultdict[str, int] = defaultdict(int)
    ended = store.ended()
    for (service, instance), at in store.polls().items():
        if at > (now - _ASKING) * 1000 and (service, instance) not in ended:
            found[service] += 1
    return found


def _segments(store: Store, tasks: Iterable[str], trace_id: str) -> dict[str, list[Answer]]:
    """By task, the segments that have stacks of it, the oldest first."""
    counted: dict[str, list[Row]] = {}
    for task in tasks:
        counted[task] = store.read(_COUNTED, {"task": task, "trace": trace_id})
    found: dict[str, Row] = {}
    wanted = json.dumps([row[0] for rows in counted.values() for row in rows])
    if wanted != "[]":
        for piece in pieces(store, "segments"):
            found |= {row[0]: row[1:] for row in store.read(_SEGMENTS, {**piece, "wanted": wanted})}
    return {
        task: sorted((_segment(row, found.get(row[0])) for row in rows), key=lambda each: each["start"])
        for task, rows in counted.items()
    }


def _segment(counted: Row, row: Row | None) -> Answer:
    """A segment that has not arrived yet, or fell out, has no trace; then the times of its stacks are its times."""
    segment, count, first, last = counted
    trace, instance, service, endpoint, start, took = row or (None, "", "", "", first, last - first)
    return {
        "segment_id": segment,
        "trace_id": trace,
        "instance": instance,
        "service": service,
        "endpoint": endpoint,
        "start": start,
        "duration": took,
        "snapshots": count,
    }
