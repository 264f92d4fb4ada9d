"""When a process under `swagent run` gets its agent.

| process | its agent starts |
| --- | --- |
| a script | at once, in a thread |
| a server, a child of multiprocessing, a forked child | when it serves, or with its first record, whichever is first |
| a program that Python is a part of, as uWSGI | the same |
| a wrapper, which becomes another program | with its first record |
| a process that only supervises workers, as gunicorn's master does | never: nothing is alive when it forks |

A server's agent lives in its application's lifespan, where there is one, and in a thread otherwise.

Nothing here does anything where no command of `swagent run` has called `follow`.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Sequence
from functools import partial

from ..agent import running as running_agent
from ..agent_log import lower_news, say
from ..config import Config
from ..runtime.first_record import forget, when_recorded
from ..runtime.interpreter_options import read_command
from ..runtime.transport_choice import find_transport
from .agent_thread import start, start_if_none, stop_own

# Programs that serve an application, or start processes that do.
_SERVERS = frozenset({
    "celery", "daphne", "django-admin", "fastapi", "flask", "granian", "gunicorn", "hypercorn", "litestar", "locust",
    "manage", "quart", "sanic", "uvicorn", "waitress-serve",
})  # fmt: skip
# They put a folder of their own on the path of a command and become it.
_WRAPPERS = frozenset({"ddtrace-run", "newrelic-admin", "opentelemetry-instrument"})
# The commands of multiprocessing's own processes: a process that forks children, a child, and one that records
# nothing.
_CHILD = re.compile(r"from multiprocessing\.(?:forkserver|spawn) import")
_RESOURCE_TRACKER = "from multiprocessing.resource_tracker import main"

_followed: Config | None = None
_opening: Callable[[], object] | None = None


def follow(config: Config, command: Sequence[str], *, opening: Callable[[], object] | None = None) -> None:
    """From now on this process and its forked children have agents, each when it is time.

    :param command: how this interpreter was called, as `sys.orig_argv` has it
    :param opening: says that the agent is there, once this process serves or looks after others that do; not in
        forked children. Must not raise
    :raises ConfigError: when a setting cannot be used
    """
    global _followed, _opening  # noqa: PLW0603, RUF100
    if any(_RESOURCE_TRACKER in each for each in command):
        return
    # now: in the middle of an import of the application's, the thread that waits for ours may hold its lock
    find_transport(config)
    _followed, _opening = config, opening
    # unless the user asks for them by name
    lower_news("SW_AGENT_LOGGING_LEVEL" not in os.environ)
    # without a command Python is a part of a server, as in uWSGI and mod_wsgi, which fork on their own
    if not command or any(_CHILD.search(each) for each in command) or program_of(command) in _SERVERS | _WRAPPERS:
        when_recorded(config, partial(start_if_none, config))
    else:
        start(config, follow_forks=True)


def followed() -> Config | None:
    """The settings of any agent that is started under `swagent run`; None elsewhere."""
    return _followed


def start_now() -> None:
    """This process serves from now on, and there is no lifespan for the agent to live in. Never raises."""
    if _followed is not None:
        start_if_none(_followed)
        if running_agent() is not None:
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
    if _followed is None:
        return
    forget()
    try:
        stop_own()
    except Exception as error:  # noqa: BLE001, RUF100  (in the middle of a server's start, which goes on)
        say(logging.ERROR, "the agent of a process without requests could not be stopped", exc_info=error)
    note_serving()


def program_of(command: Sequence[str]) -> str:
    """The program that an interpreter runs: the name of a script, without its folder and its ending, or of a module
    (`-m`). Empty: neither of them.

    >>> program_of(["python3", "-X", "dev", "/srv/manage.py", "runserver"])
    'manage'
    """
    read = read_command(command)
    return read.module.partition(".")[0] or os.path.basename(read.script).removesuffix(".exe").removesuffix(".py")


def _wait_in_child() -> None:
    """A forked child has an agent of its own, wherever that of its parent lived. Not now: most children are replaced by
    another program at once, or record nothing."""
    global _opening  # noqa: PLW0603, RUF100
    _opening = None
    if _followed is not None:
        when_recorded(_followed, partial(start_if_none, _followed))


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_wait_in_child)
