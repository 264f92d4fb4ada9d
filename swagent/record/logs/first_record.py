"""Noticing the first record that a process logs, for an agent that is to start with it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .patch import Patch

_OURS = "swagent"


class FirstRecord:
    """Calls a function once, when a record of some level passes a logger, and then lets that record pass: a capture
    that was attached meanwhile gets it.
    """

    def __init__(self, level: int, method: str, awaken: Callable[[], object]) -> None:
        """
        :param method: the method of Logger that a capture replaces
        :param awaken: may attach a capture; must not raise
        """
        self._level = level
        self._method = method
        self._awaken = awaken
        self._patch = Patch(logging.Logger, method, self._wrap)

    def attach(self) -> None:
        """Start to watch. A second call does nothing."""
        self._patch.apply()

    def detach(self) -> None:
        """Stop watching. A second call does nothing."""
        self._patch.remove()

    def _wrap(self, patch: Patch) -> Callable[..., object]:
        first_record = self

        def looked_at(self: logging.Logger, record: logging.LogRecord) -> object:
            handle = patch.original
            if patch.is_active and first_record._is_wanted(record):
                is_outermost = getattr(logging.Logger, first_record._method) is looked_at
                first_record.detach()
                first_record._awaken()
                if is_outermost:
                    handle = getattr(logging.Logger, first_record._method)
            return handle(self, record)

        return looked_at

    def _is_wanted(self, record: logging.LogRecord) -> bool:
        try:
            return record.levelno >= self._level and not record.name.startswith(_OURS)
        except Exception:  # noqa: BLE001, RUF100  (a record of a foreign class)
            return False
