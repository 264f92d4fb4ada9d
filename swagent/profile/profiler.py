"""Handles the commands in a collector's answers: one profile task runs at a time, and all other commands are counted.

Only the commands listed here are read. None of them reaches a setting, a file or another host: a task can only have
requests of one endpoint sampled, within the limits of `profile_task`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable

from ..abc import Command
from ..record.meters.samples import Sample, SingleSample
from ..record.snapshot import ProfileSnapshot
from ..record.trace.tracer import Tracer
from .profile_task import COMMAND, ProfileTask, read_task
from .sampler import Limits, Sampler

_REMEMBERED = 100


class Profiler:
    """One agent's.

    :ivar last_command: when the newest task was created that a command has named, in milliseconds since the epoch
    """

    def __init__(
        self,
        tracer: Tracer,
        limits: Limits,
        offer: Callable[[ProfileSnapshot], object],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """:param clock: seconds since the epoch"""
        self._tracer = tracer
        self._limits = limits
        self._offer = offer
        self._clock = clock
        self._sampler: Sampler | None = None
        self._known: deque[str] = deque(maxlen=_REMEMBERED)
        self._counts: dict[str, int] = {}
        self.last_command = 0

    def choose(self, commands: Iterable[Command], *, is_full: bool = False) -> ProfileTask | None:
        """The task to carry out, of all that a collector said. Everything else is counted and dropped.

        :param is_full: whether no further task is taken, as too many wait for their time
        """
        chosen: ProfileTask | None = None
        now = int(self._clock() * 1000)
        for command in commands:
            if command.name != COMMAND:
                self.count("unknown")
                continue
            try:
                task = read_task(command.arguments, now)
            except ValueError:
                self.count("malformed")
                continue
            self.last_command = max(self.last_command, task.created)
            if task.id in self._known:
                self.count("replayed")
                continue
            self._known.append(task.id)
            if chosen is not None or is_full:
                self.count("one_too_many")
            elif task.end <= now:
                self.count("expired")
            else:
                chosen = task
                self.count("accepted")
        return chosen

    def now(self) -> float:
        """Seconds since the epoch, by the clock that tasks are judged by."""
        return self._clock()

    def count(self, outcome: str) -> None:
        """Count a command, or an answer that holds none that can be read."""
        self._counts[outcome] = self._counts.get(outcome, 0) + 1

    def start(self, task: ProfileTask, is_over: Callable[[], object]) -> None:
        """Sample until `stop`.

        :param is_over: called in the sampler's thread when nothing is left to sample
        """
        self.stop()
        sampler = self._sampler = Sampler(task, self._limits, self._offer, is_over)
        self._tracer.watch_requests(sampler.note)
        sampler.start()

    def stop(self) -> None:
        """Sample no more. A second call does nothing."""
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            self._tracer.watch_requests(None)
            sampler.stop()

    def after_fork_in_child(self) -> None:
        """In a forked child, where the sampler's thread is not."""
        self._sampler = None
        self._tracer.watch_requests(None)

    def collect(self) -> list[Sample]:
        """How many commands there were, by what became of them."""
        return [
            SingleSample("swagent_commands", (("outcome", outcome),), float(count))
            for outcome, count in [*self._counts.items()]
        ]
