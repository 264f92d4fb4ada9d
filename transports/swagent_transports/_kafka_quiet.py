"""Keeps what aiokafka logs about our client out of the application's log.

During an outage aiokafka logs each attempt, some of them at level ERROR. The agent logs that itself, once in a while.
Lines of aiokafka about the application's own clients are not touched.
"""

from __future__ import annotations

import logging
import threading
from contextvars import ContextVar

_LOGGERS = ("aiokafka", "aiokafka.cluster", "aiokafka.conn", "aiokafka.producer.producer", "aiokafka.producer.sender")
_is_ours = ContextVar("is_ours", default=False)
_lock = threading.Lock()
_clients = 0
_own_log = logging.getLogger("swagent")


class _Quiet(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        return not _is_ours.get() or _own_log.isEnabledFor(logging.DEBUG)


_QUIET = _Quiet()


def mark_ours() -> None:
    """From here on, what this task and its children log is about our client."""
    _is_ours.set(True)


def hush() -> None:
    """A client of ours begins: keep it quiet, unless the agent's own log is at level DEBUG."""
    global _clients  # noqa: PLW0603, RUF100
    with _lock:
        _clients += 1
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_QUIET)


def unhush() -> None:
    """A client of ours is gone; with the last one the loggers are as they were."""
    global _clients  # noqa: PLW0603, RUF100
    with _lock:
        _clients -= 1
        if not _clients:
            for name in _LOGGERS:
                logging.getLogger(name).removeFilter(_QUIET)
