"""Calls by which the agent polls a collector, beside its reports.

A poll that fails changes nothing: the heartbeat finds out whether the collector is there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import DeliveryError, RejectedError
from ..pipeline.route import Route


class Polling:
    """The calls of one task.

    :ivar pause: seconds for which the collector wants no more calls
    """

    def __init__(self, route: Route, count: Callable[[str], object]) -> None:
        """:param count: counts a call that got no answer"""
        self._route = route
        self._count = count
        self.pause = 0.0

    async def call(self, method: str, *args: Any) -> Any:
        """Call a transport's method, which not every transport has. False: it failed."""
        transport = await self._route.wait_ready()
        if transport is None:
            return False
        function: Callable[..., Awaitable[Any]] = getattr(transport, method)
        try:
            return await self._route.call(function, *args)
        except DeliveryError as error:
            self._count("unanswered")
            if isinstance(error, RejectedError):
                self.pause = error.pause
            return False
