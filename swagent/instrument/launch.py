"""Starts the agent in each Python process of the command of `swagent run`, before the command's own code."""

from __future__ import annotations

import os
import sys
from collections.abc import Container
from functools import partial

from ..config import Config, environment
from ..hosting.late_start import follow
from .configured import instrument
from .next_program import lead
from .opening_line import say_opening
from .pytest_rewrite import spare_warnings


def launch(before: Container[str], folder: str, *, is_first: bool = True) -> Config:
    """Instrument what the command will import, and let the agent start when it is time.

    :param before: the names of the modules that were there before the first one of the agent's
    :param folder: which Python found on its path, and so the agent
    :param is_first: whether this is the first interpreter of the command, and not one that it has started
    :returns: the settings
    :raises ConfigError: when a setting cannot be used
    """
    environment.leave_unsaid(os.environ)
    config = Config.from_env()
    # before anything is started: the agent's own libraries are among those that are instrumented
    instrument(config=config)
    follow(config, sys.orig_argv, opening=partial(say_opening, config) if is_first else None)
    spare_warnings(before)
    lead(folder)
    return config
