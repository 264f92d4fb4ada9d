"""The line with which a server under `swagent run` reports that its agent runs.

Most servers give their own loggers a handler and none to the root, so a line at INFO would be lost. Then it goes to
stderr, as the last resort of `logging` does with warnings; stdout is the command's own.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from functools import partial

from .. import acceleration
from ..abc import addresses_of
from ..agent_log import do_in_thread, log, say
from ..config import Config
from ..config.options import level_number
from ..runtime.transport_choice import find_transport
from .installation import recording


def say_opening(config: Config) -> None:
    """Say it, unless the agent's own lines are to be above INFO. Never raises."""
    if (level_number(config.log_level.upper()) or 0) > logging.INFO:
        return
    with suppress(Exception):
        # now: later more may be recorded
        do_in_thread(partial(_write, opening_line(config)))


def _write(line: str) -> None:
    with suppress(Exception):  # it is a word only, and stderr may be closed
        if _is_heard():
            say(logging.INFO, "%s", line)
        elif sys.stderr is not None:
            sys.stderr.write(f"swagent: {line}\n")
            sys.stderr.flush()


def opening_line(config: Config) -> str:
    """The recorded signals, the service's name, the address that they are sent to, and what records them.

    :raises ConfigError: when there is no such transport, or an address of its cannot be used
    """
    addresses = ", ".join(str(each) for each in addresses_of(find_transport(config), config))
    recorded = ", ".join(recording()) or "no libraries"
    return (
        f"service {config.service_name!r} reports to {addresses} over {config.protocol}; recorded so far: {recorded}; "
        f"recorded by {acceleration.describe(config.native)} (SW_AGENT_LOGGING_LEVEL=warning leaves this line out)"
    )


def _is_heard() -> bool:
    """Whether any handler gets the agent's log lines of level INFO."""
    logger: logging.Logger | None = log if log.isEnabledFor(logging.INFO) else None
    while logger is not None:
        for handler in logger.handlers:
            if handler.level <= logging.INFO and not isinstance(handler, logging.NullHandler):
                return True
        logger = logger.parent if logger.propagate else None
    return False
