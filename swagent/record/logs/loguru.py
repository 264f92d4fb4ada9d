"""loguru: the agent's sink, which is in place while the capture is attached.

The work is done in the sink's filter, and the sink itself gets nothing. loguru formats a record and writes it to sinks
under a lock of its own, and the application's code (an exception's `__str__`) must not run under that lock.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any


class LoguruSource:
    """Puts the sink in place where the application has loaded loguru, and takes it out again."""

    def __init__(self, level: int, report: Callable[[Mapping[str, object]], None]) -> None:
        """:param report: takes a record of loguru; never raises"""
        self._level = level
        self._report = report
        self._logger: Any = None
        self._id = -1
        # the application may import loguru in one thread while the agent starts in another
        self._lock = threading.RLock()

    def attach(self) -> None:
        """Add the sink, unless it is there or loguru is not loaded."""
        logger = getattr(sys.modules.get("loguru"), "logger", None)
        with self._lock:
            if self._logger is None and logger is not None:
                self._id = logger.add(_ignore, level=self._level, filter=_Filter(self._report), format="{message}")
                self._logger = logger

    def detach(self) -> None:
        """Remove the sink. The application may have removed it before, together with all others."""
        if self._logger is not None:
            with suppress(ValueError):
                self._logger.remove(self._id)
            self._logger = None


class _Filter:
    """Reports each record, and lets none through.

    An application may pickle its logger, with all its sinks, for a process that it starts. There an agent has a sink of
    its own, and this one does nothing.
    """

    def __init__(self, report: Callable[[Mapping[str, Any]], object]) -> None:
        self._report = report

    def __call__(self, record: Mapping[str, Any]) -> bool:
        self._report(record)
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        return _Filter, (_ignore,)


def _ignore(_: object) -> None:
    """Take a record and do nothing: as the sink, and as the `report` of a filter that was pickled, since only the
    filter in the agent's process reports."""
