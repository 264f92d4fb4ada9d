"""The rest of the watch over a loop that waits most of the time.

Theory of operation
-------------------
A watch that looks twenty times a second beside a loop that does nothing costs more than the loop. So after a while in
which the loop was found waiting at each look, the loop itself says when a turn begins and ends, by a timer of the
kernel's: it is set at the begin, and cleared at the end. The thread waits for the timer alone. A turn that is short
wakes nothing. One that is not wakes the thread while it is under way, sooner than looks would have found it.

A loop that turns often would pay for that, so one that does wakes the watch as well, which then looks as before. If the
loop waits again soon after, the next rest has to be waited for twice as long: it comes and goes.

Where a system has no such timer, or the turns of a loop cannot be seen, the watch does not rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ..agent_log import say
from ..backend import LoopNotifier, loop_notifier
from ..inspection.kernel_timer import KernelTimer, Set
from ..inspection.loop_turns import LoopTurns, turns_of_this_loop

LONG_TURN = 0.01
"""Seconds after which a turn wakes the watch."""
_AFTER, _AT_MOST = 1.0, 64.0
"""Seconds for which a loop has to wait before the watch rests."""
_SHORT_REST = 10.0
_MANY_TURNS = 128
"""In less than a second."""
_AT_ONCE = 1e-6
# the application may close the timer, of which the waiting thread hears nothing
_LONGEST_WAIT = 2.0


class WatchRest:
    """Of one watch. `begin` and `end` are for the loop's thread, all else for the watch's."""

    def __init__(
        self, turns: LoopTurns, notify: LoopNotifier, long_turn: float = LONG_TURN, after: float = _AFTER
    ) -> None:
        """
        :param long_turn: seconds
        :param after: so many seconds of waiting
        """
        self._turns = turns
        self._notify = notify
        self._timer: KernelTimer | None = None
        self._set: Set
        self._long_turn = long_turn
        self._needed = self._least = after
        self._idle_since: float | None = None
        self._is_asked = self._is_entered = self._is_broken = False
        self._turned, self._counted_from, self._has_many = 0, 0.0, False

    # -- in the loop --------------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        timer = self._timer
        try:
            if timer is None or self._is_broken:
                return
            self._set = timer.setter(self._long_turn)
            self._turned, self._counted_from = 0, time.monotonic()
            self._is_entered = self._turns.enter(self._begin, timer.setter(0))
            # this turn, too, may take long
            self._begin()
        except Exception:  # noqa: BLE001, RUF100  (what it touches is no public interface)
            self._is_broken = True
            self._leave()

    def _leave(self) -> None:
        self._is_entered = False
        self._turns.leave()

    def _begin(self) -> None:
        self._set()
        self._turned += 1
        if self._turned == _MANY_TURNS:
            now = time.monotonic()
            if now - self._counted_from < 1.0:
                # the timer stays as it is, and so wakes the watch soon
                self._has_many = True
                self._leave()
            self._turned, self._counted_from = 0, now

    # -- in the thread ------------------------------------------------------------------------------------------------

    def note(self, *, is_idle: bool) -> None:
        """A look has found the loop waiting, or not."""
        if is_idle:
            self._idle_since = time.monotonic() if self._idle_since is None else self._idle_since
            return
        self._idle_since = None
        if self._is_asked:
            self._stop_reports()

    def is_due(self) -> bool:
        """Whether the watch may rest now. Once the loop has waited for long enough, it is asked to report its turns;
        the rest may begin when it does."""
        since = self._idle_since
        if self._is_broken or since is None or time.monotonic() - since < self._needed:
            return False
        if not self._is_asked and self._has_timer():
            self._is_asked = True
            self._notify(self._enter)
        return self._is_entered

    def _has_timer(self) -> bool:
        try:
            self._timer = self._timer or KernelTimer()
        except Exception as error:  # noqa: BLE001, RUF100  (systems differ, and so does what is patched in them)
            say(logging.DEBUG, "the watch over an event loop cannot rest: %r", error)
            self._is_broken = True
        return not self._is_broken

    def take(self, is_stopped: Callable[[], bool]) -> float:
        """Rest until a turn takes long, or `wake`. Blocks.

        :returns: for how many seconds the turn has been under way
        """
        began = time.monotonic()
        try:
            while self._timer is not None and not self._is_broken and not is_stopped():
                if self._timer.wait(_LONGEST_WAIT):
                    break
        except OSError:
            self._is_broken = True
        is_short = self._has_many and time.monotonic() - began < _SHORT_REST
        self._needed = min(self._needed * 2, _AT_MOST) if is_short else self._least
        self._idle_since, self._has_many = None, False
        self._stop_reports()
        return self._long_turn

    def _stop_reports(self) -> None:
        self._is_asked = self._is_entered = False
        self._notify(self._leave)

    def wake(self) -> None:
        """End the rest, as the watch stops. Any thread."""
        timer = self._timer
        if timer is not None:
            # or the end of a turn would clear the timer
            self._turns.leave()
            timer.setter(_AT_ONCE)()

    def close(self) -> None:
        """There is no rest any more."""
        self._is_broken = True
        self._stop_reports()
        self._close_timer()

    def after_fork_in_child(self) -> None:
        """The timer is the parent's: touch it no more."""
        self._is_broken = True
        self._leave()
        self._close_timer()

    def _close_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.close()


def rest_beside_this_loop() -> WatchRest | None:
    """For a watch over the running loop; None: it cannot rest."""
    turns = turns_of_this_loop()
    return WatchRest(turns, loop_notifier()) if turns is not None else None
