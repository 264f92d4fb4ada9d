"""One agent a process: a second caller takes the agent that runs.

Two agents would report each log line twice, as two instances. So the middleware and `swagent.start()` look here first.
An `Agent` that is entered by hand is a wish of its own, and is not kept from running beside another one.
"""

from __future__ import annotations

import dataclasses
import logging
from types import TracebackType

import anyio
from anyio import CancelScope

from .. import stop_budgets
from ..agent import Agent
from ..agent import running as running_agent
from ..agent_log import say
from ..config import Config, is_drawn


def adopt(config: Config | None) -> Agent | None:
    """The agent that runs in this process; None where there is none.

    :param config: what an agent of our own would have; where that is not what counts, one line says so. Left out,
        nothing is asked for
    """
    agent = running_agent()
    if agent is None:
        return None
    ignored = [] if config is None else _differences(config, agent.config)
    if ignored:
        text = "an agent for %s runs in this process already and is used here too; these settings do not count: %s"
        say(logging.WARNING, text, agent.config.service, ", ".join(ignored))
    else:
        say(logging.DEBUG, "the agent for %s that runs in this process already is used here too", agent.config.service)
    return agent


def _differences(config: Config, running: Config) -> list[str]:
    names = (field.name for field in dataclasses.fields(Config))
    different = [name for name in names if getattr(config, name) != getattr(running, name)]
    return [name for name in different if name != "instance" or not is_drawn(config.instance)]


class Adopted:
    """A block that uses an agent that was started elsewhere: leaving it flushes, and the agent runs on."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def __aenter__(self) -> Agent:
        self._agent.watch_loop()
        return self._agent

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, anyio.get_cancelled_exc_class()):
            with CancelScope(shield=True):
                await self._agent.flush(stop_budgets.CANCELLED_FLUSH)
        else:
            await self._agent.flush(self._agent.config.shutdown_timeout)
