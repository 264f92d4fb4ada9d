"""The capturing of log records: everything that passes a logger of `logging`, of loguru or of structlog.

There is no handler on the root logger, but a wrapper around `Logger.callHandlers`. The application would notice a
handler: `logging.basicConfig()` does nothing if the root has a handler already, warnings that nobody handles would no
longer reach stderr, `dictConfig` would remove it, and loggers that do not propagate (uvicorn's) would not reach it. The
wrapper runs after the application's own handlers. It holds no lock, so foreign code may do anything in it.

The wrapper also sets the field for `%(tid)s`. A LogRecord factory could not: `logging` raises KeyError into the
application when an `extra` has the name of a field that the factory made.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..foreign import must_reach_application
from .conversion import Conversion, unreadable
from .entry import LogEntry as LogEntry
from .guard import alone, alone_shortly, dispatch, is_forwarded
from .loguru import LoguruSource
from .origin import trace_id
from .patch import Patch
from .settings import LogSettings as LogSettings

_OURS = "swagent"


class LogCapture:
    """Reports log records from `attach()` to `detach()`. Recording needs no lock and any thread may log meanwhile;
    attach and detach belong to one thread at a time."""

    def __init__(self, offer: Callable[[LogEntry], object], settings: LogSettings) -> None:
        """:param offer: takes a record, in the thread in which it was logged; never raises, never waits. A thread that
        is logging just now may still call it shortly after `detach()`."""
        self.settings = settings
        self._offer = offer
        self._conversion = Conversion(settings)
        self._patch = Patch(logging.Logger, settings.method, self._wrap)
        self._loguru = LoguruSource(settings.level, self.report_loguru)
        self._last = threading.local()

    @property
    def is_attached(self) -> bool:
        """Whether records are reported."""
        return self._patch.is_active

    def attach(self) -> None:
        """Report records from now on, of loguru too where it is loaded. A second call does nothing."""
        self._patch.apply()
        self._loguru.attach()
        if self not in _running:
            _running.append(self)

    def detach(self) -> None:
        """Take back everything that `attach()` put in place. A second call does nothing."""
        if self in _running:
            _running.remove(self)
        self._loguru.detach()
        self._patch.remove()

    def attach_loguru(self) -> None:
        """Report the records of loguru, which the application has loaded just now. A second call does nothing."""
        if self.is_attached:
            self._loguru.attach()

    # -- what comes in ------------------------------------------------------------------------------------------------

    def report_loguru(self, record: Mapping[str, Any]) -> None:
        """Report a record of loguru, once even if several sinks get it."""
        try:
            time, name = record["time"], record["name"]
            is_new = getattr(self._last, "time", None) is not time
            self._last.time = time
            wanted = is_new and record["level"].no >= self.settings.level and not is_forwarded()
        except Exception:  # noqa: BLE001, RUF100  (not a record of loguru's)
            return
        if wanted and self.is_attached and not str(name).startswith(_OURS):
            alone(self._report, self._conversion.from_loguru, record)

    def report_structlog(self, level: int, name: str, logger: object, event: Any) -> None:
        """Report an event of structlog."""
        if level >= self.settings.level and self.is_attached and not is_forwarded():
            alone(self._report, self._conversion.from_structlog, name, logger, event)

    def _wrap(self, patch: Patch) -> Callable[[logging.Logger, logging.LogRecord], None]:
        def captured(logger: logging.Logger, record: logging.LogRecord) -> None:
            if not patch.is_active or not self._is_wanted(record):
                patch.original(logger, record)
                return
            try:
                dispatch(patch.original, logger, record)
            finally:
                # the application's handlers may raise, and there was a record all the same
                if patch.is_active and not logger.disabled:
                    self._report_logging(record)

        return captured

    def _report_logging(self, record: logging.LogRecord) -> None:
        # a record's class may be anybody's
        if type(record) is not logging.LogRecord or not alone_shortly(self._report_plain, record):
            alone(self._report, self._conversion.from_logging, record)

    def _report_plain(self, record: logging.LogRecord) -> bool:
        entry = self._conversion.plain(record)
        if entry is None:
            return False
        try:
            self._offer(entry)
        except Exception:  # noqa: BLE001, RUF100  (ours, and the application only logged something)
            return True
        return True

    def _is_wanted(self, record: logging.LogRecord) -> bool:
        try:
            # for the application's own formatters
            if "tid" not in record.__dict__:
                record.tid = trace_id()
            return record.levelno >= self.settings.level and not record.name.startswith(_OURS)
        except Exception:  # noqa: BLE001, RUF100  (somebody's idea of a record; its handlers may cope with it)
            return False

    def _report(self, convert: Callable[..., LogEntry], *record: Any) -> None:
        try:
            entry = convert(*record)
        except BaseException as error:  # noqa: BLE001, RUF100  (foreign code; that there was a record is told)
            if must_reach_application(error):
                raise
            entry = unreadable(error)
        self._offer(entry)


_running: list[LogCapture] = []


def running() -> LogCapture | None:
    """The capture attached last. A process-wide place, for the same reason as the tracer's."""
    return _running[-1] if _running else None
