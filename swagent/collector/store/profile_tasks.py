"""The profile tasks that were made here, the instances that have taken each, and those that have finished it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Literal

from .bounded_map import BoundedMap
from .database import Database

State = Literal["waiting", "running", "finished", "missed"]
KEPT = 100
"""How many tasks are remembered."""
LONGEST_WAIT = 60
"""Seconds for which a task waits for agents at least: they ask three times meanwhile."""
# Of one task. More names than that are made up.
_MOST_INSTANCES = 200
# Seconds after its time for the report of an instance that it is through.
_LAST_WORDS = 10


@dataclass(frozen=True, slots=True)
class ProfileTask:
    """An order to look at the requests of one endpoint. `created` is in milliseconds since the epoch.

    :ivar seconds: for which requests are followed, from when an instance takes the task
    :ivar period: milliseconds between two looks
    :ivar samples: how many requests each instance follows
    :ivar min_ms: for which a request has to take already, before it is followed
    """

    id: str
    service: str
    endpoint: str
    seconds: int
    period: int
    samples: int
    min_ms: int
    created: int


@dataclass(slots=True)
class Progress:
    """How far a task is. The times are when, in milliseconds since the epoch, by instance."""

    task: ProfileTask
    taken: dict[str, int] = field(default_factory=dict[str, int])
    finished: dict[str, int] = field(default_factory=dict[str, int])

    def state(self, now: int) -> State:
        """Waiting for an agent to ask; running; finished; or missed, as no agent asked in time."""
        if self.taken:
            ends = (at + (self.task.seconds + _LAST_WORDS) * 1000 for at in self._open().values())
            return "running" if any(now < end for end in ends) else "finished"
        return "waiting" if now < self.task.created + max(self.task.seconds, LONGEST_WAIT) * 1000 else "missed"

    def is_for(self, instance: str, now: int) -> bool:
        """Whether an instance that asks now is to carry it out."""
        if instance in self.taken:  # its answer may have got lost
            return instance not in self.finished and now < self.taken[instance] + self.task.seconds * 1000
        is_early = now < self.task.created + max(self.task.seconds, LONGEST_WAIT) * 1000
        return is_early and self.state(now) != "finished" and len(self.taken) < _MOST_INSTANCES

    def _open(self) -> dict[str, int]:
        return {instance: at for instance, at in self.taken.items() if instance not in self.finished}


class BusyError(Exception):
    """A service carries out one task at a time.

    :ivar task: the one that is not over yet
    """

    def __init__(self, task: ProfileTask) -> None:
        super().__init__(f"{task.service!r} is at another profile, of {task.endpoint!r}: wait until that is over")
        self.task = task


class ProfileTasks:
    """The newest tasks. The store's lock guards it."""

    def __init__(self, database: Database, limit: int) -> None:
        """:param limit: how many instances that ask are remembered"""
        self._database = database
        self._tasks = BoundedMap[str, Progress](KEPT)
        self._polls = BoundedMap[tuple[str, str], int](limit)
        kept = [json.loads(text) for (text,) in database.read("SELECT data FROM profiles")]
        for each in sorted(kept, key=lambda each: each["task"]["created"]):
            self._tasks.put(each["task"]["id"], Progress(ProfileTask(**each["task"]), each["taken"], each["finished"]))

    def add(self, task: ProfileTask) -> ProfileTask:
        """Add a task; gives it as it is kept: its time of creation is later than that of every other.

        :raises BusyError: when the service has one that is not over
        """
        others = self._tasks.values()
        for each in others:
            if each.task.service == task.service and each.state(task.created) in ("waiting", "running"):
                raise BusyError(each.task)
        # agents ask for what was created after the newest that they know
        newest = max((each.task.created for each in others), default=0)
        task = dataclasses.replace(task, created=max(task.created, newest + 1))
        self._keep(Progress(task))
        return task

    def assign(self, service: str, instance: str, since: int, now: int) -> list[ProfileTask]:
        """Give the tasks to an instance that asks for them now, and note that it has them.

        :param since: when the newest task was created that the instance knows
        """
        self._polls.put((service, instance), now)
        found: list[ProfileTask] = []
        for each in self._tasks.values():
            if each.task.service == service and each.task.created > since and each.is_for(instance, now):
                each.taken[instance] = now
                self._keep(each)
                found.append(each.task)
        return found

    def finish(self, task_id: str, instance: str, now: int) -> None:
        """Note that an instance has ended its part of a task."""
        progress = self._tasks.get(task_id)
        if progress is not None and instance in progress.taken and instance not in progress.finished:
            progress.finished[instance] = now
            self._keep(progress)

    def known(self) -> list[Progress]:
        """All of them, the oldest first."""
        return [Progress(each.task, each.taken.copy(), each.finished.copy()) for each in self._tasks.values()]

    def polls(self) -> dict[tuple[str, str], int]:
        """When each service's instance asked last; milliseconds since the epoch."""
        return {key: self._polls.get(key) or 0 for key in self._polls.keys()}  # noqa: SIM118  (a bounded map is no Mapping)

    def _keep(self, progress: Progress) -> None:
        gone = self._tasks.put(progress.task.id, progress)
        self._database.put("profiles", (progress.task.id, json.dumps(dataclasses.asdict(progress))))
        if gone is not None:
            self._database.add_statement("DELETE FROM profiles WHERE task = ?", (gone.task.id,))
