"""The watchdog of an event loop: a thread that notices when the loop has not turned for longer than a limit.

Theory of operation
-------------------
A few times in each span of the limit the thread looks whether the loop runs anything. A loop that waits is left in
peace: nothing wakes it for our sake. One that runs something is asked for a sign of life, in the way in which any
thread enters a loop. If it turns it answers at once, and that is all that happens.

Where no answer comes within the limit, the thread looks which task holds the loop and where it is in the code, and goes
on looking until the answer is there: the span of that task gets the tag `loop.blocked`, which grows meanwhile, and a
span log with the stack. It cannot wait for the end: a handler that blocks and then returns has ended its request before
the loop turns again.

The requests that had to wait are found in the loop itself, right afterwards: see `victims`. The loop is asked for that
apart, while it is held: an answer may come in the very turn that held it, before the loop has looked at its sockets and
timers again.

Beside a loop that waits most of the time the thread does not look at all: see `watch_rest`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..agent_log import RateLimitedLog
from ..inspection.frames import frame_of
from ..inspection.loop_view import LoopView, Task
from ..record.trace.span import Span
from ..system_thread import Flag, SystemThread
from .blocked_loop import BLOCKED, Block, Place, add_time, place_of, request_of, span_of
from .long_steps import LONG_STEP, LongSteps
from .victims import Victims
from .watch_rest import WatchRest

_LOOK_EVERY = 0.01
_FIRST_LOOK, _MOMENT = 0.005, 0.003
_limited = RateLimitedLog()


@dataclass
class _Hold:
    """The time for which one span, or no span at all, has held the loop."""

    span: Span | None
    place: Place
    seconds: float = 0.0
    tagged: float = 0.0


@dataclass
class _Blockage:
    """The loop does not turn."""

    began: float
    holds: dict[int, _Hold] = field(default_factory=dict[int, _Hold])


class LoopWatch:
    """Watches one loop, from the making until `stop`."""

    def __init__(
        self, view: LoopView, limit: float, report: Callable[[Block], object], rest: WatchRest | None = None
    ) -> None:
        """
        :param limit: seconds
        :param report: called with each block, in the watchdog's thread; must not raise
        :param rest: how it rests; None: it looks all the time
        """
        self._rest = rest
        self._view = view
        self._limit = limit
        self._long_steps = LongSteps(view)
        self._report = report
        self._stopped = Flag()
        self._answered = threading.Event()
        self._answered_at = 0.0
        self._looked = threading.Event()
        self._looked.set()
        self._thread = SystemThread(self._run, "swagent-loop-watch")
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer. A second call does nothing."""
        self._stopped.set()
        self._answered.set()
        if self._rest is not None:
            self._rest.wake()
        if not self._thread.is_this():
            self._thread.join(1.0)

    def after_fork_in_child(self) -> None:
        """In a forked child, which has no such thread: touch nothing of the parent's."""
        if self._rest is not None:
            self._rest.after_fork_in_child()

    @property
    def thread(self) -> int:
        """The identity of the thread that its loop runs in."""
        return self._view.thread

    def is_run(self) -> bool:
        """Whether its loop runs."""
        return self._view.is_run()

    def wait_for_report(self, timeout: float) -> None:
        """Wait until a hold that is over has been reported. Blocks: not for the loop's own thread.

        :param timeout: seconds
        """
        self._looked.wait(timeout)

    # -- in the loop --------------------------------------------------------------------------------------------------

    def _answer(self) -> None:
        self._answered_at = time.monotonic()
        self._answered.set()

    def _note_victims(self, victims: Victims, blockage: _Blockage) -> None:
        held = _by_request(list(blockage.holds.values()))
        # a request that was woken may be seen in its first step, before the loop comes to its answer
        culprits = {each for each, seconds in held.items() if seconds >= min(self._limit, max(held.values()))}
        # the answer has come: functions are called in the order in which the loop was given them
        victims.note(culprits, held, blockage.began, self._answered_at)

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._look_on()
        finally:
            if self._rest is not None:
                self._rest.close()

    def _wait(self) -> float:
        """Wait until the next look, or the end; the seconds since the last one."""
        if self._rest is not None and self._rest.is_due():
            # as if the last look had been so long before that the turn began halfway
            return 2 * self._rest.take(self._stopped.is_set)
        pause = self._limit / 2
        if self._long_steps.are_near():
            pause = min(pause, _LOOK_EVERY)
        self._stopped.wait(pause)
        return pause

    def _is_waiting(self) -> bool:
        """Whether the loop waits, or does not run at all."""
        is_run = self._view.is_run()
        is_waiting = not is_run or self._view.is_idle()
        if self._rest is not None:
            self._rest.note(is_idle=is_run and is_waiting)
        return is_waiting

    def _look_on(self) -> None:
        rest = self._limit / 2
        while True:
            pause = self._wait()
            if self._stopped.is_set():
                return
            if self._is_waiting():
                continue
            asked_at = time.monotonic()
            running = self._view.running()
            self._answered.clear()
            self._view.notify(self._answer)
            if self._turns_within(rest, running):
                continue
            # a process that was suspended as a whole, or a thread that got no turn, is given a moment to answer
            if self._answered.wait(self._limit - rest) or self._answered.wait(_LOOK_EVERY):
                continue
            self._looked.clear()
            try:
                # it began somewhere in the pause before the question
                self._follow(_Blockage(asked_at - pause / 2))
            except Exception as error:  # noqa: BLE001, RUF100  (what it looks at is no public interface)
                _limited.warn("loop watch", "a blocked event loop could not be looked into: %r", error)
            finally:
                self._looked.set()

    def _turns_within(self, seconds: float, running: Task | None) -> bool:
        """Whether the loop turns within a time, or the watch ends; note the code of a step that takes long.

        :param running: by this task, when the loop was asked
        """
        # nothing waits for the answer at first: to wake this thread would cost the loop more than to answer
        if running is not None and seconds >= 2 * LONG_STEP:
            asked_at = time.monotonic()
            if self._stopped.wait(_FIRST_LOOK):
                return True
            # code that computes lets this thread go on 5 ms later than it would
            left = max(asked_at + LONG_STEP - time.monotonic(), _MOMENT)
            if not self._answered.is_set() and not self._answered.wait(left):
                # a task has one step in a turn: this is the one that it had then
                self._long_steps.note(running)
            elif self._long_steps.are_near():
                return True
            seconds -= LONG_STEP
        return self._stopped.wait(seconds) or self._answered.is_set()

    def _follow(self, blockage: _Blockage) -> None:
        """Look on until the loop turns again."""
        running = self._view.running()
        victims = Victims(self._view, running)
        self._view.notify(lambda: self._note_victims(victims, blockage))
        last = blockage.began
        while True:
            now = time.monotonic()
            self._look(blockage.holds, running, now - last)
            last = now
            if self._answered.wait(_LOOK_EVERY):
                break
            if not self._view.is_run():
                return
            running = self._view.running()
        if not self._stopped.is_set():
            longest = max(blockage.holds.values(), key=lambda each: each.seconds)
            self._report(Block(time.time(), self._answered_at - blockage.began, longest.place.frame))

    def _look(self, holds: dict[int, _Hold], running: Task | None, seconds: float) -> None:
        """Count some more seconds to the task that holds the loop, and say so once they are more than the limit."""
        span = span_of(running)
        hold = holds.get(id(span))
        if hold is None:
            hold = holds[id(span)] = _Hold(span, place_of(frame_of(self._view.thread)))
        hold.seconds += seconds
        if span is None or hold.seconds < self._limit:
            return
        if not hold.tagged:
            self._long_steps.take_back(span)
            span.log(event=BLOCKED, frame=hold.place.frame, stack=hold.place.stack)
        add_time(span, BLOCKED, hold.seconds, hold.tagged)
        hold.tagged = hold.seconds


def _by_request(holds: Iterable[_Hold]) -> dict[int, float]:
    """For how many seconds each request held the loop, by its identity; all that is no request's as one."""
    held: dict[int, float] = {}
    for hold in holds:
        request = id(request_of(hold.span) if hold.span is not None else None)
        held[request] = held.get(request, 0.0) + hold.seconds
    return held
