"""What goes wrong in the middleware itself: counted, logged now and then, and no request's business."""

from __future__ import annotations

from ..agent_log import RateLimitedLog


class Faults:
    """What went wrong in the middleware itself.

    :ivar count: how often so far
    """

    def __init__(self) -> None:
        self.count = 0
        self._limited = RateLimitedLog()

    def note(self, work: str, error: Exception) -> None:
        """Count an error, and log it unless the same work failed just now.

        :param work: one of a few fixed texts
        """
        self.count += 1
        self._limited.warn(work, "%s failed, and the request goes on: %r", work, error)
