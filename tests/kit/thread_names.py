"""The names of the threads that are alive."""

from __future__ import annotations

import threading

from swagent import system_thread


def thread_names() -> list[str]:
    """Those of the agent are in it, which `threading` does not list."""
    return [each.name for each in threading.enumerate()] + [each.name for each in system_thread.alive()]
