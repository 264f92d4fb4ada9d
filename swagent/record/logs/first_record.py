"""Noticing the first record that a process logs, for an agent that is to start with it."""

from __future__ import annotations

import logging
from threading import get_ident

from .patch import Patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_OURS = "swagent"


class FirstRecord:
    """Calls a function when a record of some level passes a logger, and then lets that record pass: a capture that was
    attached meanwhile gets it. Then it looks no more.
    """

    def __init__(self, level: int, method: str, awaken: Callable[[], object]) -> None:
        """
        :param method: the method of Logger that a capture replaces
        :param awaken: may attach a capture; must not raise. Threads that log meanwhile call it as well
        """
        self._level = level
        self._method = method
        self._awaken = awaken
        self._awakening: set[int] = set()
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
                if first_record._begin() and is_outermost:
                    handle = getattr(logging.Logger, first_record._method)
            return handle(self, record)

        return looked_at

    def _begin(self) -> bool:
        """Call what is to be called; returns whether it was, and not by this thread, which logs in the middle of it."""
        thread = get_ident()
        if thread in self._awakening:
            return False
        self._awakening.add(thread)
        try:
            self._awaken()
            self.detach()
        finally:
            self._awakening.discard(thread)
        return True

    def _is_wanted(self, record: logging.LogRecord) -> bool:
        try:
            return record.levelno >= self._level and not record.name.startswith(_OURS)
        except Exception:  # noqa: BLE001, RUF100  (a record of a foreign class)
            return False
