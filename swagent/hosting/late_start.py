"""When a process under `swagent run` gets its agent.

| process | its agent starts |
| --- | --- |
| a script | with its first record, when it imports the agent or makes a meter, or after ten seconds, in a thread |
| a server, a child of multiprocessing, a forked child | when it serves, or with its first record, whichever is first |
| a program that Python is a part of, as uWSGI | the same |
| a wrapper, which becomes another program | with its first record |
| a process that only supervises workers, as gunicorn's master does | never: nothing is alive when it forks |

A server's agent lives in its application's lifespan, where there is one, and in a thread otherwise.

Nothing here does anything where no command of `swagent run` has called `follow`. The agent itself is imported when it
starts.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..agent_log import lower_news, say
from ..config import Config
from ..forks import at_fork
from ..runtime.first_record import forget, when_recorded
from ..startup.import_hook import importing_for_ourselves
from ..startup.processes import is_script
from .uwsgi import follow_uwsgi

_AGENT_THREAD = "swagent.hosting.agent_thread"

_followed: Config | None = None
_opening: Callable[[], object] | None = None
_is_held_back = False


def follow(config: Config, command: Sequence[str], *, opening: Callable[[], object] | None = None) -> None:
    """From now on this process and its forked children have agents, each when it is time.

    :param command: how this interpreter was called, as `sys.orig_argv` has it
    :param opening: says that the agent is there, once this process serves or looks after others that do; not in
        forked children. Must not raise
    :raises ConfigError: when a setting cannot be used
    """
    global _followed, _opening  # noqa: PLW0603, RUF100
    _followed, _opening = config, opening
    # unless the user asks for them by name
    lower_news("SW_AGENT_LOGGING_LEVEL" not in os.environ)
    when_recorded(config, start_when_needed, also_meters=is_script(command))
    follow_uwsgi(in_each_worker=True)


def unfollow() -> None:
    """This process and its forked children have no agents from now on. One that runs is not stopped by this."""
    global _followed, _opening  # noqa: PLW0603, RUF100
    _followed = _opening = None
    forget()


def start_when_needed() -> None:
    """Start the agent of this process, under `swagent run`, unless it has one or looks after others. Never raises."""
    if not _is_held_back:
        _start_followed()


def import_agent() -> None:
    """Import all that the agent of this process needs, for a time at which that would be too late. Never raises."""
    if _followed is None:
        return
    try:
        with importing_for_ourselves():
            from ..runtime.transport_choice import find_transport  # noqa: PLC0415, RUF100
            from .agent_thread import loop_of  # noqa: PLC0415, RUF100

            find_transport(_followed)
            loop_of(_followed.backend)
    except Exception as error:  # noqa: BLE001, RUF100  (in the middle of an import of the application's)
        say(logging.DEBUG, "the agent could not be imported yet: %r", error)


def _start_followed() -> None:
    if _followed is not None:
        with importing_for_ourselves():
            from .agent_thread import start_if_none  # noqa: PLC0415, RUF100  (most processes never need it)

            start_if_none(_followed)


def followed() -> Config | None:
    """The settings of any agent that is started under `swagent run`; None elsewhere."""
    return _followed


def replace(config: Config) -> None:
    """Let the agents that start from now on have these settings, under `swagent run`: an application's own."""
    global _followed  # noqa: PLW0603, RUF100
    if _followed is not None:
        _followed = config


def start_now() -> None:
    """This process serves from now on, and there is no lifespan for the agent to live in. Never raises."""
    if _followed is not None:
        _start_followed()
        from ..agent import running  # noqa: PLC0415, RUF100  (as above)

        if running() is not None:
            note_serving()


def note_serving() -> None:
    """This process serves, and its agent is there, or it looks after others that serve. Says so, once. Never raises."""
    global _opening  # noqa: PLW0603, RUF100
    lower_news(False)
    opening, _opening = _opening, None
    if opening is not None:
        opening()


def hold_back() -> None:
    """This process looks after others, and starts or forks them: it has no agent. Never raises."""
    global _is_held_back  # noqa: PLW0603, RUF100
    if _followed is None:
        return
    _is_held_back = True
    forget()
    thread: Any = sys.modules.get(_AGENT_THREAD)
    try:
        if thread is not None:
            thread.stop_own()
    except Exception as error:  # noqa: BLE001, RUF100  (in the middle of a server's start, which goes on)
        say(logging.ERROR, "the agent of a process without requests could not be stopped", exc_info=error)
    note_serving()


def _wait_in_child() -> None:
    """A forked child has an agent of its own, wherever that of its parent lived. Not now: most children are replaced by
    another program at once, or record nothing."""
    global _opening, _is_held_back  # noqa: PLW0603, RUF100
    _opening, _is_held_back = None, False
    if _followed is not None:
        when_recorded(_followed, start_when_needed)


at_fork(after_in_child=_wait_in_child)
