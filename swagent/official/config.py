"""`config.init(agent_name="shop")`, and the options as names of this module, to read and to set.

An option has the name of its variable, without `SW_` and in lower case. So it is read as the variable is, and checked
as that is, when the agent starts; it wins over the variable, as in the official agent.
"""

from __future__ import annotations

import logging
import os

from ..agent_log import say
from ..config import Config, options
from ..config.without_meaning import reason_of

_FIELDS = {option.env: name for name, option in options()}
_unknown: set[str] = set()


def init(**kwargs: object) -> None:
    """Set options. One that there is not is named in one warning, and the program goes on.

    :param kwargs: options by their names
    """
    for name, value in kwargs.items():
        if _is_option(name):
            globals()[name] = value
        elif name not in _unknown:
            _unknown.add(name)
            say(logging.WARNING, "config.init(%s=...): there is no such option; it is left out", name)


def settings() -> Config:
    """The settings: the options that were set here, else the environment, the project's file, and the defaults.

    :raises ConfigError: one cannot be used
    """
    given = {_variable(name): _as_text(value) for name, value in [*globals().items()] if _is_option(name)}
    return Config.from_env({**os.environ, **given}, folder=os.curdir)


def _variable(name: str) -> str:
    return f"SW_{name.upper()}"


def _is_option(name: str) -> bool:
    variable = _variable(name)
    return name.islower() and (variable in _FIELDS or reason_of(variable) is not None)


def _as_text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def __getattr__(name: str) -> object:
    # of an option that was not set here
    if not _is_option(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    variable = _variable(name)
    return getattr(settings(), _FIELDS[variable]) if variable in _FIELDS else os.environ.get(variable)
