"""Ends the work of a thread when the task that waits for it was cancelled."""

from __future__ import annotations

from contextlib import suppress

from anyio.from_thread import check_cancelled


def stop_if_cancelled() -> None:
    """Raise the cancellation of the task that waits for this worker thread of anyio, if it was cancelled. Elsewhere it
    does nothing. It costs two or three microseconds."""
    with suppress(RuntimeError):  # this is no worker thread
        check_cancelled()
