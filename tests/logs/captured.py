"""The log records that a test makes, as they are reported."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from swagent.record.logs.capture import LogCapture, LogEntry, LogSettings

PLAIN = "%(message)s"


class Captured:
    """Takes log records as a running agent does."""

    def __init__(self, **settings: Any) -> None:
        self.entries: list[LogEntry] = []
        self.capture = LogCapture(self.entries.append, LogSettings(**{"layout": PLAIN, **settings}))

    @property
    def only(self) -> LogEntry:
        """The one record that was reported."""
        (entry,) = self.entries
        return entry

    @property
    def texts(self) -> list[str]:
        """The texts of the records."""
        return [entry.text for entry in self.entries]

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the one record that was reported."""
        return dict(self.only.tags)


@contextmanager
def capturing(**settings: Any) -> Iterator[Captured]:
    """Capture, and see to it that nothing of the capture remains."""
    captured = Captured(**settings)
    before = places()
    captured.capture.attach()
    try:
        yield captured
    finally:
        captured.capture.detach()
        captured.capture.detach()
    assert places() == before


def places() -> list[object]:
    """Where a capture leaves traces, or others do."""
    return [
        list(logging.root.handlers),
        logging.Logger.handle,
        logging.Logger.callHandlers,
        logging.getLogRecordFactory(),
    ]
