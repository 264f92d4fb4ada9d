"""How long the garbage collector has run, while somebody wants to know. It stops all threads that run Python."""

from __future__ import annotations

import gc
import threading
import time


class GarbageTime:
    """Counts while it has users.

    :ivar spent: seconds, which only grow
    """

    is_known = hasattr(gc, "callbacks")  # PyPy has none

    def __init__(self) -> None:
        self.spent = 0.0
        self._started = 0.0
        self._users = 0
        self._lock = threading.Lock()

    def enter(self) -> None:
        """One user more."""
        with self._lock:
            self._users += 1
            if self._users == 1 and self.is_known:
                self._started = 0.0
                gc.callbacks.append(self._note)

    def leave(self) -> None:
        """One user less."""
        with self._lock:
            self._users -= 1
            if not self._users and self.is_known:
                gc.callbacks.remove(self._note)

    def _note(self, phase: str, _: object) -> None:
        now = time.monotonic()
        if phase == "start":
            self._started = now
        elif self._started:  # else it was under way when we came
            self.spent += now - self._started
            self._started = 0.0


garbage_time = GarbageTime()
