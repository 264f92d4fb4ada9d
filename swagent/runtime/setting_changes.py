"""Log lines about settings that change at run time: a few at once, then one in a while that says how often."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ..agent_log import say

_AT_ONCE = 3
_QUIET = 30.0


class SettingChanges:
    """The changes of one agent's settings.

    Of each setting three changes have a line of their own. Further ones are counted until 30 seconds have passed since
    its last line; then one line says what the setting is, and how often it changed. Never raises.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._of: dict[str, _Changes] = {}

    def note(self, name: str, old: str, new: str, reason: str) -> None:
        """Note one change, and log it unless there were too many.

        :param name: of the setting, one of a few
        :param reason: why it has the new value
        """
        now = self._clock()
        changes = self._of.setdefault(name, _Changes())
        if changes.held or not changes.allow(now):
            changes.held += 1
            changes.latest = (new, reason)
            return
        say(logging.INFO, "%s is %s now, %s; it was %s", name, new, reason, old)

    def say_held(self) -> None:
        """Log what was held back long enough. To be called now and then."""
        now = self._clock()
        for name, changes in self._of.items():
            if changes.held and changes.is_quiet(now):
                changes.fill(now)
                held, changes.held = changes.held, 0
                since = f"it changed {held} times since the last line about it" if held > 1 else "it changed once more"
                say(logging.INFO, "%s is %s now, %s; %s", name, *changes.latest, since)


class _Changes:
    """Those of one setting.

    :ivar held: how many have no line yet
    :ivar latest: the value and the reason of the last of them
    """

    def __init__(self) -> None:
        self.held = 0
        self.latest: tuple[str, str] = ("", "")
        self._lines = 0
        self._last = 0.0

    def allow(self, now: float) -> bool:
        """Whether one more may have a line of its own, which counts as a line."""
        if self._lines and self.is_quiet(now):
            self._lines = 0
        if self._lines == _AT_ONCE:
            return False
        self._lines += 1
        self._last = now
        return True

    def is_quiet(self, now: float) -> bool:
        """Whether there was no line for long enough."""
        return now - self._last >= _QUIET

    def fill(self, now: float) -> None:
        """A line has said how many there were: the next ones are held back at once."""
        self._lines = _AT_ONCE
        self._last = now
