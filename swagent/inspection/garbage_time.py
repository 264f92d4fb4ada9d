"""How long the garbage collector has run. It stops all threads that run Python."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

from ..acceleration import native
from ..forks import at_fork


class GarbageTime:
    """Counts while it has users. Any thread.

    :ivar spent: seconds, which only grow; where the interpreter takes no callbacks, it is always 0
    :ivar is_known: whether each collection is timed when it ends. PyPy takes no callbacks, and has only a total
    """

    is_known = hasattr(gc, "callbacks")

    def __init__(self) -> None:
        self.spent = 0.0
        self._started = 0.0
        self._users = 0
        self._lock = threading.RLock()

    def enter(self) -> None:
        """One user more."""
        with self._lock:
            self._users += 1
            if self._users == 1 and self.is_known:
                self._started = 0.0
                gc.callbacks.append(self._note)
                if native is not None:
                    # the clocks of C have their own
                    gc.callbacks.append(native.note_collection)

    def leave(self) -> None:
        """One user less."""
        with self._lock:
            self._users -= 1
            if not self._users and self._note in getattr(gc, "callbacks", ()):
                gc.callbacks.remove(self._note)
                if native is not None and native.note_collection in gc.callbacks:
                    gc.callbacks.remove(native.note_collection)

    def total(self) -> float:
        """Seconds until now, since an unknown moment. It grows while there are users; on PyPy always."""
        if self.is_known:
            return self.spent
        statistics: Any = gc.get_stats()
        return float(statistics.total_gc_time) / 1000

    def renew_lock(self) -> None:
        """In a forked child: another thread of the parent may have held it."""
        self._lock = threading.RLock()

    def _note(self, phase: str, _: object) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._started = now
        elif self._started:  # else the collection had begun before there was a user
            self.spent += now - self._started
            self._started = 0.0


garbage_time = GarbageTime()

at_fork(after_in_child=garbage_time.renew_lock)
