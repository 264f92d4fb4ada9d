"""The capturing of log records: everything that passes a logger of `logging`, of loguru or of structlog.

There is no handler on the root logger, but a wrapper around `Logger.callHandlers`. The application would notice a
handler: `logging.basicConfig()` does nothing if the root has a handler already, warnings without a handler would no
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

from ...agent_log import RateLimitedLog
from ..foreign import must_reach_application
from .conversion import Conversion, unreadable
from .entry import LogEntry as LogEntry
from .guard import alone, is_forwarded, local
from .loguru import LoguruSource
from .patch import Patch
from .reader import make_reader
from .settings import LogSettings as LogSettings

_OURS = "swagent"
_limited = RateLimitedLog()


class LogCapture:
    """Reports log records from `attach()` to `detach()`. Recording needs no lock and any thread may log meanwhile;
    attach and detach belong to one thread at a time."""

    def __init__(
        self,
        offer: Callable[[LogEntry], object],
        settings: LogSettings,
        offer_plain: Callable[[tuple[object, ...]], object] | None = None,
    ) -> None:
        """
        :param offer: takes a record, in the thread in which it was logged; never raises, never waits. A thread that is
            logging just now may still call it shortly after `detach()`.
        :param offer_plain: takes what was noted of a plain record, see `PlainRecord`; where there is none, `offer` does
        """
        self.settings = settings
        self._offer = offer
        self._offer_plain = offer_plain or self._offer_converted
        self._conversion = Conversion(settings)
        self._reader = make_reader(settings.level, self._conversion.layout, self._offer_plain, _warn)
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
        """Undo everything that `attach()` did. A second call does nothing."""
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

    def _wrap(self, patch: Patch) -> Callable[..., object]:
        look, note, offer_plain = self._reader.look, self._reader.note, self._offer_plain
        report, convert = self._report, self._conversion.from_logging

        # one function of many lines: every record passes here, and one call takes as long as several lines
        def captured(self: logging.Logger, record: logging.LogRecord) -> object:
            # an attribute that is read first and then called takes half as long as one that is called as a method
            original = patch.original
            if not patch.is_active:
                return original(self, record)
            entry = look(record)
            if entry is False:
                return original(self, record)
            thread = local.thread
            outer = thread.dispatching
            try:
                thread.dispatching = True
                return original(self, record)
            finally:
                thread.dispatching = outer
                # the record counts even if one of the application's handlers has raised
                if patch.is_active and not self.disabled:
                    plain = note(thread, record, entry)
                    if plain is None:
                        alone(report, convert, record)
                    elif plain is not True:
                        try:
                            offer_plain(plain)
                        except Exception as error:  # noqa: BLE001, RUF100  (ours, and the application only logged)
                            _warn(error)

        return captured

    def _offer_converted(self, plain: tuple[object, ...]) -> None:
        alone(self._report, self._conversion.from_plain, plain)

    def _report(self, convert: Callable[..., LogEntry], *record: object) -> None:
        try:
            entry = convert(*record)
        except BaseException as error:  # noqa: BLE001, RUF100  (foreign code; that there was a record is reported)
            if must_reach_application(error):
                raise
            entry = unreadable(error)
        self._offer(entry)


def _warn(error: Exception) -> None:
    _limited.warn("offer", "a log record could not be handed over: %r", error)


_running: list[LogCapture] = []


def running() -> LogCapture | None:
    """The capture attached last. A process-wide place, for the same reason as the tracer's."""
    return _running[-1] if _running else None
