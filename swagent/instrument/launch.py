"""What `swagent run` does in each Python process of its command, before the command's own code."""

from __future__ import annotations

import sys

from ..config import Config
from ..runtime.late_start import follow
from .configured import instrument


def launch() -> Config:
    """Instrument what the command will import, and let the agent start when it is time.

    :returns: the settings
    :raises ConfigError: when a setting cannot be used
    """
    config = Config.from_env()
    # before anything is started: the agent's own libraries are among those that are instrumented
    instrument(config=config)
    follow(config, sys.orig_argv)
    return config
