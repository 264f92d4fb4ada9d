"""Asks the collector which settings it has for this service, and has them put in force."""

from __future__ import annotations

import anyio

from ..abc import Instance, Transport
from ..config import Config
from ..pipeline.route import Route
from .overrides import Overrides
from .questions import Questions

_SHORTEST = 0.05


class ConfigurationSync:
    """One agent's."""

    def __init__(self, questions: Questions, overrides: Overrides, instance: Instance, interval: float) -> None:
        """:param interval: seconds between two questions"""
        self._questions = questions
        self._overrides = overrides
        self._instance = instance
        self._interval = max(interval, _SHORTEST)

    async def run(self) -> None:
        """Ask until it is cancelled."""
        questions = self._questions
        while True:
            await anyio.sleep(max(self._interval, questions.pause))
            questions.pause = 0.0
            answer = await questions.call("configuration_commands", self._instance, self._overrides.uuid)
            self._overrides.follow(answer or ())


def configuration_sync(
    config: Config,
    transport: type[Transport],
    route: Route,
    overrides: Overrides,
    instance: Instance,
) -> ConfigurationSync | None:
    """What asks for settings; None: the transport brings none, or nobody wants them."""
    interval = config.get_agent_dynamic_config_interval
    if not interval or not hasattr(transport, "configuration_commands"):
        return None
    return ConfigurationSync(Questions(route, overrides.count), overrides, instance, interval)
