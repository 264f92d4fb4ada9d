"""The requests that had to wait while a task held the loop.

They are seen at three moments, by the tasks that could run and did not:

1. While the loop is held: the tasks that were ready before.
2. When the loop turns again, before and after it has looked at its sockets and timers: the tasks that what came
   meanwhile makes ready. trio has its tasks run in any order, so some of them have been run before that moment: their
   number of steps shows it.
3. A request that came in meanwhile has no span yet. Its task is looked at again, after its first step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..agent_log import RateLimitedLog
from ..inspection.loop_view import LoopView, Task
from ..record.trace.span import Span
from .blocked_loop import add_time, request_of, span_of

WAITED = "loop.waited"
_limited = RateLimitedLog()


class Victims:
    """Of one time in which a loop did not turn."""

    def __init__(self, view: LoopView, running: Task | None) -> None:
        """Look at the tasks now, while the loop is held.

        :param running: by this task
        """
        self._view = view
        self._steps = view.steps()
        self._began = self._ended = 0.0
        self._left_out: set[int] = set()
        self._held: Mapping[int, float] = {}
        self._found: dict[int, Span] = {}
        self._newcomers: dict[int, Task] = {}
        for task in view.ready():
            if task is not running:
                self._add(task)

    def note(self, culprits: set[int], held: Mapping[int, float], began: float, ended: float) -> None:
        """Say of each request how long it had to wait; in the loop, when it turns again. Never raises.

        :param culprits: the identities of the requests that held it
        :param held: for how many seconds each of them did, and others that ran for a short time
        :param began: monotonic seconds
        :param ended: likewise
        """
        self._left_out, self._held, self._began, self._ended = culprits, held, began, ended
        for request in list(self._found.values()):
            self._tag(request, since=request.start_time - request.epoch)
        self._look_at_newcomers()
        self._look([task for task, steps in self._view.steps().items() if self._steps.get(task, steps) != steps])
        self._look(self._view.ready())
        self._view.notify(self._note_woken)

    def _note_woken(self) -> None:
        self._look_at_newcomers()
        self._look(self._view.ready())
        if self._newcomers:
            self._view.notify(self._look_at_newcomers)

    def _look_at_newcomers(self) -> None:
        """Look again at the tasks that had no request yet: one may have begun since."""
        newcomers, self._newcomers = self._newcomers, {}
        self._look(newcomers.values(), came_in=True)

    def _look(self, tasks: Iterable[Task], *, came_in: bool = False) -> None:
        """:param came_in: whether their requests have begun just now, and were in the server's socket until then"""
        try:
            for task in tasks:
                request = self._add(task)
                if request is not None:
                    self._tag(request, since=self._began if came_in else request.start_time - request.epoch)
        except Exception as error:  # noqa: BLE001, RUF100  (what it looks at is no public interface)
            _limited.warn("victims", "cannot see the requests that wait for the event loop: %r", error)

    def _add(self, task: Task) -> Span | None:
        """Remember the request of a task. None: it has none yet, or it is known."""
        span = span_of(task)
        if span is None:
            self._newcomers[id(task)] = task
        request = request_of(span) if span is not None else None
        if request is None or id(request) in self._found:
            return None
        self._found[id(request)] = request
        return request

    def _tag(self, request: Span, since: float) -> None:
        if id(request) not in self._left_out:
            waited = self._ended - max(self._began, since) - self._held.get(id(request), 0.0)
            add_time(request, WAITED, max(0.0, waited))
