"""Warns of uWSGI where it runs without a flag that the agent needs: records would be lost, and nothing would show it.

uWSGI has a module of its own in the interpreter, with its options and what has become of them. So nothing is guessed
from a command line, and a file of settings counts as well.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from ..agent_log import say

# Either of them lets Python learn of a fork.
_OF_FORKS = ("py-call-osafterfork", "py-call-uwsgi-fork-hooks")
_LAZY = ("lazy-apps", "lazy")

_is_examined = False


def warn_of_uwsgi_flags(*, in_each_worker: bool) -> None:
    """Say which flag is missing, once, if this process is uWSGI's. Forked children do not say it again. Never raises.

    :param in_each_worker: whether every worker calls this, if the process that forks them has not; then it is enough
        that the first one says it
    """
    global _is_examined  # noqa: PLW0603, RUF100
    # not imported: it is there before any application, and elsewhere the name may be that of the application's file
    uwsgi: Any = sys.modules.get("uwsgi")
    if _is_examined or uwsgi is None:
        return
    with suppress(Exception):  # some other module of this name
        found: object = uwsgi.opt
        if isinstance(found, dict):
            options = cast("dict[Any, object]", found)
            sentence = flaw_of(options, processes=uwsgi.numproc, has_threads=bool(uwsgi.has_threads))
            _is_examined = True
            if sentence is not None and not (in_each_worker and uwsgi.worker_id() > 1):
                say(logging.WARNING, "%s", sentence)


def flaw_of(options: Mapping[Any, object], *, processes: int, has_threads: bool) -> str | None:
    """A sentence about the flag that is missing, and its effect; None: nothing is missing.

    :param options: uWSGI's own, by their long names: True, or text in bytes
    :param processes: how many workers there are
    :param has_threads: whether threads of Python run beside requests; newer versions have them without a flag
    """
    # with one worker the application, and the agent with it, may be loaded before the fork
    forks = processes > 1 or (_is_on(options, "master") and not any(_is_on(options, name) for name in _LAZY))
    if not has_threads:
        flag, effect = "--enable-threads", "the agent's thread stands still between requests, and records are lost"
    elif forks and not any(_is_on(options, name) for name in _OF_FORKS):
        flag = "--py-call-osafterfork"
        effect = "Python does not learn that uWSGI forks, workers number their records alike, and records are lost"
    else:
        return None
    return f"uWSGI runs without {flag}: {effect}"


def _is_on(options: Mapping[Any, object], name: str) -> bool:
    """Whether a flag is set. A file of settings may say `false`, which uWSGI takes for off."""
    value = options.get(name)
    return value is True or (isinstance(value, bytes) and value.lower() not in (b"false", b"0", b"off", b"no"))
