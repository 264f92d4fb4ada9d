"""The settings of the capture of logs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from ...config.options import level_number

if TYPE_CHECKING:
    from ...config import Config


class LogSettings(NamedTuple):
    """The settings of one capture."""

    level: int = logging.WARNING
    layout: str = "%(asctime)s [%(threadName)s] %(levelname)s %(name)s - %(message)s"
    formatted: bool = True
    """False: the bare message as text, arguments and exception as tags."""
    safe_mode: bool = False
    ignore_filter: bool = False
    depth: int = 10

    @property
    def method(self) -> str:
        """The method of Logger where records are found: `handle` asks the logger's filters, `callHandlers` is what it
        calls for records that pass them."""
        return "handle" if self.ignore_filter else "callHandlers"

    @classmethod
    def from_config(cls, config: Config) -> LogSettings:
        """The settings that a user chose. The agent decides whether logs are reported at all."""
        level = config.log_reporter_level
        number = int(level) if level.isdecimal() else level_number(level)
        return cls(
            # the level's name was removed since the configuration was checked
            level=number if number is not None else logging.WARNING,
            layout=config.log_reporter_layout,
            formatted=config.log_reporter_formatted,
            safe_mode=config.log_reporter_safe_mode,
            ignore_filter=config.log_reporter_ignore_filter,
            depth=config.cause_exception_depth,
        )
