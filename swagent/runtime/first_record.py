"""An agent that starts with the first record of a process: for forked children, of which most record nothing."""

from __future__ import annotations

from collections.abc import Callable

from ..config import Config
from ..record.logs.first_record import FirstRecord
from ..record.logs.settings import LogSettings
from ..record.trace import tracer as tracers

_first_log: FirstRecord | None = None


def when_recorded(config: Config, start: Callable[[], object]) -> None:
    """Let the first span or log record call this. It may be called more than once, and must not raise.

    :param config: says which log records count
    """
    global _first_log  # noqa: PLW0603, RUF100
    forget()
    tracers.when_missed(start)
    if config.log_reporter_active is not False:
        settings = LogSettings.from_config(config)
        _first_log = FirstRecord(settings.level, settings.method, start)
        _first_log.attach()


def forget() -> None:
    """Wait for no record any more. A second call does nothing."""
    global _first_log  # noqa: PLW0603, RUF100
    tracers.when_missed(None)
    first_log, _first_log = _first_log, None
    if first_log is not None:
        first_log.detach()
