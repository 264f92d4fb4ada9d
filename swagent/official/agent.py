"""`agent.start()`: this agent, with the options of `config`.

Under `swagent run` the agent of the command takes these options over: a script's starts now, that of a server when the
server serves, as always.
"""

from __future__ import annotations

import logging
import os
import sys

from ..agent_log import say
from ..errors import AgentStateError
from ..hosting import late_start
from ..instrument.configured import instrument
from ..startup.import_hook import importing_for_ourselves
from ..startup.processes import is_script
from . import config


class SkyWalkingAgent:
    """The agent of this process, as the application starts and stops it."""

    def __init__(self) -> None:
        self.started_pid: int | None = None

    @property
    def started(self) -> bool:
        """Whether this process has started it."""
        return self.started_pid == os.getpid()

    def start(self) -> None:
        """Record from now on, and report. A second call does nothing.

        :raises ConfigError: an option cannot be used
        """
        if self.started:
            return
        settings = config.settings()
        is_followed = late_start.followed() is not None
        self.started_pid = os.getpid()
        # first: whatever is recorded from here on may start the agent
        late_start.replace(settings)
        instrument(config=settings)
        if is_followed and not is_script(sys.orig_argv):
            return
        with importing_for_ourselves():
            from ..hosting import agent_thread  # noqa: PLC0415, RUF100  (under `swagent run` it starts the agent)
        try:
            agent_thread.start(settings, follow_forks=not is_followed)
        except AgentStateError as error:
            # the official agent does not raise here either
            say(logging.ERROR, "swagent is off: %s", error)

    def stop(self) -> None:
        """Flush and stop; under `swagent run` flush only. Without a start it does nothing."""
        if not self.started:
            return
        self.started_pid = None
        thread = sys.modules.get("swagent.hosting.agent_thread")
        if thread is not None:
            thread.stop()


agent = SkyWalkingAgent()
"""The agent: `from skywalking.agent import agent`."""
start = agent.start
stop = agent.stop
