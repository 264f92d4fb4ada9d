"""Functions that are called around a fork of this process.

Python calls them. Python does not notice the fork of a program that embeds it, such as uWSGI: `note_fork` calls the
functions of the child then.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Hook = Callable[[], object]

_CAN_FORK = hasattr(os, "register_at_fork")  # not on Windows
_in_child: list[Hook] = []
_process = os.getpid()


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


def note_fork() -> None:
    """Call the functions of the child, if this is a child in which Python has not called them."""
    if os.getpid() != _process:
        _note()
        for each in _in_child:
            each()


def _note() -> None:
    global _process  # noqa: PLW0603, RUF100
    _process = os.getpid()


# registered first: if Python calls it, Python calls the other functions, too
if _CAN_FORK:
    os.register_at_fork(after_in_child=_note)
