"""What is done around a fork of this process.

Python calls it, unless a program forks that Python is a part of: uWSGI tells Python of a fork only if it runs with
`--py-call-osafterfork`. But it calls `uwsgi.post_fork_hook` in each worker, so a function of ours is there too.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Hook = Callable[..., object]

_CAN_FORK = hasattr(os, "register_at_fork")  # not on Windows
_in_child: list[Hook] = []
_process = os.getpid()
_followed: list[Any] = []


def at_fork(
    *, before: Hook | None = None, after_in_parent: Hook | None = None, after_in_child: Hook | None = None
) -> None:
    """Have functions called around each fork, as `os.register_at_fork` does. They must not raise."""
    if not _CAN_FORK:
        return
    if before is not None:
        os.register_at_fork(before=before)
    if after_in_parent is not None:
        os.register_at_fork(after_in_parent=after_in_parent)
    if after_in_child is not None:
        os.register_at_fork(after_in_child=after_in_child)
        _in_child.append(after_in_child)


def follow_uwsgi(when_imported: Callable[[str, Hook], object]) -> None:
    """Learn of uWSGI's forks, if this process is uWSGI's. A second call does nothing.

    :param when_imported: has a function called with a module once it is imported
    """
    # not imported: it is there before any application, and elsewhere the name may be that of the application's file
    uwsgi: Any = sys.modules.get("uwsgi")
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


def note_fork() -> None:
    """In a process that may be a forked child: do what is done in one, unless Python has."""
    if os.getpid() != _process:
        _note()
        for each in _in_child:
            each()


def _join(decorators: Any) -> None:
    """uWSGI's own decorators put a function of theirs in the place of ours, which calls those of a list."""
    decorators.postfork_chain.insert(0, note_fork)


def _note() -> None:
    global _process  # noqa: PLW0603, RUF100
    _process = os.getpid()


# the first one: Python has called the others, too
if _CAN_FORK:
    os.register_at_fork(after_in_child=_note)
