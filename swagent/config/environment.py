"""Reads options from environment variables, and reports unknown names."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ..errors import ConfigError
from ..startup.settings import NAME as _NAME
from ..startup.settings import NO_NAME
from .names import question
from .options import Option, level_number
from .without_meaning import KAFKA_CLIENT, NAMES, reason_of

log = logging.getLogger("swagent")


def read(option: Option, text: str) -> Any:
    try:
        return option.check(option.parse(text))
    except (ValueError, TypeError, RecursionError):
        raise ConfigError(option.env, option.shown(text), option.allowed) from None


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
        if name.startswith(KAFKA_CLIENT) and name not in known and name not in NAMES:
            # whatever it is, it may be a password
            raise ConfigError(name, "***", ", ".join(known))


def without_meaning(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that only the official agent has a use for, with the reasons."""
    reasons = ((name, reason_of(name)) for name, text in sorted(environ.items()) if text)
    return {name: reason for name, reason in reasons if reason is not None}


def name_without_meaning(environ: Mapping[str, str], level: str) -> None:
    """One line for all of them.

    :param level: of the agent's own lines, which its logger gets only when the agent starts
    """
    names = ", ".join(without_meaning(environ))
    if not names or (level_number(level.upper()) or 0) > logging.INFO:
        return
    message = "these variables are the official agent's and mean nothing here (`swagent doctor` says why): %s"
    with suppress(Exception):
        log.handle(log.makeRecord(log.name, logging.INFO, __file__, 0, message, (names,), None))


# Of the process's own variables, and of the name of its service: several parts of the agent may read them.
_said: set[str] = set()


def leave_unsaid(environ: Mapping[str, str]) -> None:
    """In this process and its forked children nothing is said of these variables, nor of a service without a name:
    `swagent run` has done so, before it became this process."""
    _said.update(environ, (_NAME,))


def warn_of_default_name(service: str, default: str) -> None:
    """A service without a name is there, and reports under the one that all of them have. Once a process."""
    if service == default and _NAME not in _said:
        _said.add(_NAME)
        with suppress(Exception):  # as below
            log.warning(NO_NAME, service, _NAME)


def warn_of_unknown(environ: Mapping[str, str], options: Iterable[Option], *, once: bool = False) -> None:
    """:param once: whether it is the process's environment, of which each name is questioned once"""
    known = [option.env for option in options]
    for name in sorted(environ):
        if not name.startswith("SW_") or name in known or reason_of(name) is not None or (once and name in _said):
            continue
        if once:
            _said.add(name)
        hint = question(name, [*known, *NAMES])
        with suppress(Exception):  # the standard handler raises where stderr is closed
            log.warning("the environment variable %s is not known%s", name, hint)
