"""The settings of a process whose application has no line of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..startup.settings import LOCAL_INTERVAL
from . import Config, origins_of


def read_without_code(environ: Mapping[str, str] | None = None) -> Config:
    """Read the environment and the file of the project, as `Config.from_env` does. What is set in neither may differ:
    contexts go into threads, and profile tasks of a collector on this machine are looked for more often.

    :param environ: `os.environ` when left out
    :raises ConfigError: when a setting cannot be used
    """
    config = Config.from_env(environ, folder=os.curdir)
    missing = missing_without_code(config, os.environ if environ is None else environ)
    return Config.from_env(environ, folder=os.curdir, **missing) if missing else config


def missing_without_code(config: Config, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings that differ so, where neither the environment nor the file of the project has them.

    :param config: as it was read from these
    """
    origins = origins_of(environ)
    missing: dict[str, Any] = {}
    if "propagate_threads" not in origins:
        missing["propagate_threads"] = True
    if "get_profile_task_interval" not in origins and all(each.is_loopback for each in config.addresses):
        missing["get_profile_task_interval"] = LOCAL_INTERVAL
    return missing
