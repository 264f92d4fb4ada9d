"""Instruments the libraries of a process of `swagent run`, and lets its agent start when it is time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..config import Config
from ..hosting.late_start import follow, followed
from .configured import instrument
from .pytest_rewrite import spare_warnings


def instrument_command(config: Config, command: Sequence[str], *, is_first: bool = True) -> None:
    """Instrument what the command imports, or has imported, and let the agent start when it is time.

    :param command: how this interpreter was called, as `sys.orig_argv` has it
    :param is_first: whether this is the first interpreter of the command, and not one that it has started
    """
    instrument(config=config)
    follow(config, command, opening=_opening(config) if is_first else None)
    spare_warnings()


def _opening(config: Config) -> Callable[[], object]:
    def say() -> None:
        from .opening_line import say_opening  # noqa: PLC0415, RUF100  (only servers say it)

        # an application may have brought settings of its own since
        say_opening(followed() or config)

    return say
