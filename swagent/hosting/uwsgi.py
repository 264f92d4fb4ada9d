"""Notices uWSGI's forks, and warns if uWSGI runs without threads, because the agent would lose records silently.

uWSGI tells Python about a fork only with `--py-call-osafterfork`. But it calls `uwsgi.post_fork_hook` in each worker,
so we add our function to that hook. uWSGI puts a module into the interpreter, which knows the options in effect. So we
need not guess from a command line, and a settings file counts, too.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Any

from ..agent_log import say
from ..forks import note_fork
from ..startup.import_hook import when_imported

_NO_THREADS = (
    "uWSGI runs without --enable-threads: the agent's thread stands still between requests, and records are lost"
)
_is_examined = False
_followed: list[Any] = []


def follow_uwsgi(*, in_each_worker: bool) -> None:
    """Notice uWSGI's forks, if this process is uWSGI's, and warn once if it has no threads. Forked children do not
    repeat the warning. Never raises.

    :param in_each_worker: whether every worker calls this, because the process that forks them did not; then only the
        first worker warns
    """
    global _is_examined  # noqa: PLW0603, RUF100
    uwsgi = _module()
    if _is_examined or uwsgi is None:
        return
    with suppress(Exception):  # another module with this name
        follow_forks()
        # newer versions have threads without a flag
        has_threads = bool(uwsgi.has_threads)
        _is_examined = True
        if not has_threads and not (in_each_worker and uwsgi.worker_id() > 1):
            say(logging.WARNING, _NO_THREADS)


def follow_forks() -> None:
    """Notice uWSGI's forks, if this process is uWSGI's. A second call does nothing."""
    uwsgi = _module()
    if uwsgi is None or uwsgi in _followed or not hasattr(uwsgi, "worker_id"):
        return
    _followed.append(uwsgi)
    note_fork()
    former: Any = getattr(uwsgi, "post_fork_hook", None)

    def hook() -> None:
        note_fork()
        if former is not None:
            former()

    uwsgi.post_fork_hook = hook
    when_imported("uwsgidecorators", _join)


def _module() -> Any:
    # not imported: it is there before any application, and elsewhere an application's file may have this name
    return sys.modules.get("uwsgi")


def _join(decorators: Any) -> None:
    """Join uWSGI's decorators, which replace the hook by a function that calls a list of functions."""
    decorators.postfork_chain.insert(0, note_fork)
