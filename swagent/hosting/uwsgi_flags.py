"""Learns of uWSGI's forks, and warns if it runs without the threads that the agent needs: records would be lost, and
nothing would show it.

uWSGI has a module of its own in the interpreter, which says what has become of its options. So nothing is guessed from
a command line, and a file of settings counts as well.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Any

from ..agent_log import say
from ..forks import follow_uwsgi
from ..startup.import_hook import when_imported

_NO_THREADS = (
    "uWSGI runs without --enable-threads: the agent's thread stands still between requests, and records are lost"
)
_is_examined = False


def warn_of_uwsgi_flags(*, in_each_worker: bool) -> None:
    """Follow the forks of uWSGI, if this process is uWSGI's, and say once if it has no threads. Forked children do not
    say it again. Never raises.

    :param in_each_worker: whether every worker calls this, if the process that forks them has not; then it is enough
        that the first one says it
    """
    global _is_examined  # noqa: PLW0603, RUF100
    # not imported: it is there before any application, and elsewhere the name may be that of the application's file
    uwsgi: Any = sys.modules.get("uwsgi")
    if _is_examined or uwsgi is None:
        return
    with suppress(Exception):  # some other module of this name
        follow_uwsgi(when_imported)
        # newer versions have threads without a flag
        has_threads = bool(uwsgi.has_threads)
        _is_examined = True
        if not has_threads and not (in_each_worker and uwsgi.worker_id() > 1):
            say(logging.WARNING, _NO_THREADS)
