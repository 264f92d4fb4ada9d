"""An agent that starts with the first record of a process: for scripts and forked children, of which most record
nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..config import Config
from ..record.logs.first_record import FirstRecord
from ..record.logs.settings import LogSettings
from ..record.meters import registry
from ..record.suppression import suppress_instrumentation
from ..record.trace import tracer as tracers

# Seconds that a thread waits for the start in another one. Both may be in the middle of imports that wait for each
# other; then the record is not recorded, and the application goes on.
_LONGEST_WAIT = 30.0

_first_log: FirstRecord | None = None


def when_recorded(config: Config, start: Callable[[], object], *, also_meters: bool = False) -> None:
    """Let the first span or log record call this. Threads that record meanwhile wait for it.

    :param config: says which log records count
    :param start: called once; it must not raise
    :param also_meters: whether a meter that the application makes calls it as well
    """
    global _first_log  # noqa: PLW0603, RUF100
    forget()
    awaken = _Awaken(start)
    tracers.when_missed(awaken)
    if also_meters:
        registry.when_made(awaken)
    if config.log_reporter_active is not False:
        settings = LogSettings.from_config(config)
        _first_log = FirstRecord(settings.level, settings.method, awaken)
        _first_log.attach()


def forget() -> None:
    """Wait for no record any more. A second call does nothing."""
    global _first_log  # noqa: PLW0603, RUF100
    tracers.when_missed(None)
    registry.when_made(None)
    first_log, _first_log = _first_log, None
    if first_log is not None:
        first_log.detach()


class _Awaken:
    """Calls a function once, and lets other threads wait for its end."""

    def __init__(self, start: Callable[[], object]) -> None:
        self._start = start
        self._is_begun = False
        # re-entrant: the start may record by itself, or a signal handler in the middle of it
        self._lock = threading.RLock()

    def __call__(self) -> None:
        # the start waits for threads of the agent's, which must not wait for the start
        if suppress_instrumentation.get() or not self._lock.acquire(timeout=_LONGEST_WAIT):
            return
        try:
            if not self._is_begun:
                self._is_begun = True
                self._start()
                forget()
        finally:
            self._lock.release()
