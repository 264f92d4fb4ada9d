"""Errors of the agent itself while it follows a request: they are counted, logged at intervals, and cost no request."""

from __future__ import annotations

from ..agent_log import RateLimitedLog


class Faults:
    """The errors of one middleware.

    :ivar count: the number of errors so far
    """

    def __init__(self) -> None:
        self.count = 0
        self._limited = RateLimitedLog()

    def note(self, work: str, error: Exception) -> None:
        """Count an error, and log it unless the same work failed a moment ago.

        :param work: the work that failed; one of a few fixed texts
        """
        self.count += 1
        self._limited.warn(work, "%s failed, and the request goes on: %r", work, error)
