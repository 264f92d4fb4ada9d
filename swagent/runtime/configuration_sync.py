"""Polls the collector for the settings that it has for this service, and has them put in force."""

from __future__ import annotations

import anyio

from ..abc import Instance, Transport
from ..config import Config
from ..pipeline.route import Route
from .overrides import Overrides
from .polling import Polling

_SHORTEST = 0.05


class ConfigurationSync:
    """One agent's."""

    def __init__(self, polling: Polling, overrides: Overrides, instance: Instance, interval: float) -> None:
        """:param interval: seconds between two polls"""
        self._polling = polling
        self._overrides = overrides
        self._instance = instance
        self._interval = max(interval, _SHORTEST)

    async def run(self) -> None:
        """Poll until it is cancelled."""
        polling = self._polling
        while True:
            await anyio.sleep(max(self._interval, polling.pause))
            polling.pause = 0.0
            answer = await polling.call("configuration_commands", self._instance, self._overrides.uuid)
            self._overrides.follow(answer or ())


def configuration_sync(
    config: Config,
    transport: type[Transport],
    route: Route,
    overrides: Overrides,
    instance: Instance,
) -> ConfigurationSync | None:
    """The polls for settings; None: the transport brings none, or they are switched off."""
    interval = config.get_agent_dynamic_config_interval
    if not interval or not hasattr(transport, "configuration_commands"):
        return None
    return ConfigurationSync(Polling(route, overrides.count), overrides, instance, interval)
