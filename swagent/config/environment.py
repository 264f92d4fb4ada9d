"""Reading options from environment variables: one by one, and what is to be said about names that nobody knows."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ..errors import ConfigError
from .options import Option

log = logging.getLogger("swagent")

# What the official agent reads and swagent has no use for, or not yet: known, so not a spelling mistake.
_OFFICIAL_ONLY = (
    "SW_AGENT_ASYNCIO_ENHANCEMENT", "SW_AGENT_EXPERIMENTAL_FORK_SUPPORT", "SW_AGENT_QUEUE_TIMEOUT",
    "SW_AGENT_SW_PYTHON_", "SW_AGENT_DISABLE_PLUGINS", "SW_PLUGIN_", "SW_AGENT_PROFILE_",
    "SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL", "SW_KAFKA_REPORTER_CUSTOM_CONFIGURATIONS",
)  # fmt: skip
# What stands behind it is an argument of the Kafka client. The official agent wants it in lower case, any case will do.
KAFKA_CLIENT = "SW_KAFKA_REPORTER_CONFIG_"
_LONG = 100


def read(option: Option, text: str) -> Any:
    try:
        return option.check(option.parse(text))
    except (ValueError, TypeError, RecursionError):
        raise ConfigError(option.env, "***" if option.secret else text, option.allowed) from None


def fold_kafka_names(environ: Mapping[str, str]) -> dict[str, str]:
    folded: dict[str, str] = {}
    for name, text in environ.items():
        upper = name.upper()
        key = upper if upper.startswith(KAFKA_CLIENT) else name
        if key in folded:
            raise ConfigError(name, "***", "one spelling of this name")
        folded[key] = text
    return folded


def refuse_unknown_kafka(environ: Mapping[str, str], options: Iterable[Option]) -> None:
    """A setting of the Kafka client that were ignored with a mere warning might have been one for its safety."""
    known = [option.env for option in options if option.env.startswith(KAFKA_CLIENT)]
    for name in sorted(environ):
        if name.startswith(KAFKA_CLIENT) and name not in known:
            # whatever it is, it may be a password
            raise ConfigError(name, "***", ", ".join(known))


def warn_of_unknown(environ: Mapping[str, str], options: Iterable[Option]) -> None:
    known = [option.env for option in options]
    for name in sorted(environ):
        if not name.startswith("SW_") or name in known or name.startswith(_OFFICIAL_ONLY):
            continue
        # comparing takes time by the square of a name's length
        near = difflib.get_close_matches(name[:_LONG], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        with suppress(Exception):  # the standard handler raises where stderr is closed
            log.warning("the environment variable %s is not known%s", name, hint)
