"""Warns of the official agent in the same process, since it would report every request a second time."""

from __future__ import annotations

import logging
import threading

from ..agent_log import say
from ..startup.import_hook import when_imported

_MODULE = "skywalking.agent"
_lock = threading.RLock()
_is_watched = False


def watch_for_official_agent() -> None:
    """Say so, once, if the application imports it, or has. A second call does nothing."""
    global _is_watched  # noqa: PLW0603, RUF100
    with _lock:
        was_watched, _is_watched = _is_watched, True
    if not was_watched:
        when_imported(_MODULE, _say)


def _say(module: object) -> None:
    if getattr(module, "__name__", _MODULE) != _MODULE:
        # ours is in its place
        return
    say(
        logging.WARNING,
        "the application loads the official agent (apache-skywalking) as well, which reports every request a second "
        "time once it is started: leave one of the two out",
    )
