"""The heartbeat: finds a collector that answers, sends it the instance's properties, and reports every period that the
instance lives.

It is the only task that probes. Properties are the probe, because they may be sent any number of times without harm.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from ..abc import Instance, Transport
from ..errors import DeliveryError
from ..pipeline.route import Route


class Heartbeat:
    """One agent's heartbeat."""

    def __init__(self, route: Route, instance: Instance, period: float, properties_factor: int) -> None:
        """:param period: seconds between two beats
        :param properties_factor: every how many beats the properties are sent again
        """
        self._route = route
        self._instance = instance
        self._period = period
        self._factor = properties_factor

    async def run(self) -> None:
        """Beat until the route gives up, which it does only when the agent stops."""
        while (transport := await self._route.next_candidate()) is not None:
            error = await self._send(transport.report_properties)
            if error is None:
                self._route.opened(transport)
                await self._keep(transport)
            else:
                self._route.not_opened(transport, error)

    async def _keep(self, transport: Transport) -> None:
        """Beat on one collector until it is lost."""
        beats = 0
        while True:
            with anyio.move_on_after(self._period):
                await self._route.wait_lost()
                return
            beats += 1
            is_properties_turn = beats % self._factor == 0
            error = await self._send(transport.report_properties if is_properties_turn else transport.keep_alive)
            if error is not None:
                self._route.failed(transport, error)
                return

    async def _send(self, call: Callable[[Instance], Awaitable[None]]) -> DeliveryError | None:
        try:
            await self._route.call(call, self._instance)
        except DeliveryError as error:
            return error
        return None
