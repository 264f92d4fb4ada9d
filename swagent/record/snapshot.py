"""The snapshots that a profile is made of: where one task or thread of a request was at one moment."""

from __future__ import annotations

from typing import NamedTuple


class ProfileSnapshot(NamedTuple):
    """One stack of a request that is profiled."""

    task_id: str
    """The profile task's, as the collector gave it."""
    segment_id: str
    time: int
    """Milliseconds since the epoch."""
    sequence: int
    stack: tuple[str, ...]
    """The outermost call first."""
