"""Keeps what a client library logs about our own traffic out of the application's log, at any level.

An application that logs at level DEBUG would see dozens of lines for each batch, and pay for each of them. What the
library logs about the application's own traffic is not touched: whose it is says the context in which it happens.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ._connection_age import JITTER

_ATTRIBUTE = "isEnabledFor"
_is_ours = ContextVar("swagent_is_ours", default=False)


@contextmanager
def own_traffic() -> Generator[None, None, None]:
    """Mark the traffic inside, and in the tasks and connections that begin there, as our own."""
    token = _is_ours.set(True)
    try:
        yield
    finally:
        _is_ours.reset(token)


class OwnRandom:
    """In the place of the module `random` in a library: our own traffic takes no number from the application's
    generator, whose next numbers it would change."""

    def __getattr__(self, name: str) -> Any:
        return getattr(JITTER if _is_ours.get() else random, name)


class Hush:
    """The loggers of one library, silent about our own traffic for as long as a client of ours lives."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self._clients = 0
        self._lock = threading.RLock()
        # what they asked before; None: their class
        self._before: dict[str, Callable[[int], bool] | None] = {}
        self._ours: dict[str, Callable[[int], bool]] = {}

    def begin(self) -> None:
        """A client of ours begins."""
        with self._lock:
            self._clients += 1
            if self._clients == 1:
                for name in self.names:
                    self._silence(name)

    def end(self) -> None:
        """A client of ours is gone; with the last one the loggers are as they were."""
        with self._lock:
            self._clients -= 1
            if not self._clients:
                for name in self.names:
                    self._restore(name)

    def _silence(self, name: str) -> None:
        logger = logging.getLogger(name)
        is_enabled = logger.isEnabledFor

        def is_enabled_for(level: int) -> bool:
            return not _is_ours.get() and is_enabled(level)

        # asked before anything is formatted, or a record made; a filter would come after
        self._before[name] = vars(logger).get(_ATTRIBUTE)
        self._ours[name] = is_enabled_for
        _set(logger, is_enabled_for)

    def _restore(self, name: str) -> None:
        logger = logging.getLogger(name)
        ours, before = self._ours.pop(name), self._before.pop(name)
        if vars(logger).get(_ATTRIBUTE) is ours:
            _set(logger, before)


def _set(logger: Any, function: Callable[[int], bool] | None) -> None:
    if function is None:
        del logger.isEnabledFor
    else:
        logger.isEnabledFor = function
