"""The end of a child of multiprocessing.

It ends by `os._exit`, which runs nothing that `atexit` knows. multiprocessing has finalisers of its own, and forgets
those that were there when the child began.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

# behind everything of the application's, such as the end of queues (-5): it may still record
_PRIORITY = -100

_process_with_finaliser = 0
_is_watching = False


def before_child_ends(stop: Callable[[], object]) -> None:
    """Let multiprocessing call a function before this process ends, if it is one of its children, be it at its very
    beginning. Elsewhere, and the second time, this does nothing.

    :param stop: the same at each call
    """
    global _is_watching  # noqa: PLW0603, RUF100
    # not imported: its children have it
    util: Any = sys.modules.get("multiprocessing.util")
    process: Any = sys.modules.get("multiprocessing.process")
    if util is None or process is None:
        return

    def add(_: object) -> None:
        _add(util, stop)

    if not _is_watching:
        # called by the child after it has forgotten its finalisers
        util.register_after_fork(before_child_ends, add)
        _is_watching = True
    if process.parent_process() is not None:
        _add(util, stop)


def _add(util: Any, stop: Callable[[], object]) -> None:
    global _process_with_finaliser  # noqa: PLW0603, RUF100
    if _process_with_finaliser != os.getpid():
        _process_with_finaliser = os.getpid()
        util.Finalize(None, stop, exitpriority=_PRIORITY)
