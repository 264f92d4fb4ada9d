"""Warns of the official agent in the same process, since it would report every request a second time."""

from __future__ import annotations

import logging
import threading

from wrapt import register_post_import_hook

from ..agent_log import say

_MODULE = "skywalking.agent"
_lock = threading.Lock()
_is_watched = False


def watch_for_official_agent() -> None:
    """Say so, once, if the application imports it, or has. A second call does nothing."""
    global _is_watched  # noqa: PLW0603, RUF100
    with _lock:
        was_watched, _is_watched = _is_watched, True
    if not was_watched:
        register_post_import_hook(_say, _MODULE)


def _say(_: object) -> None:
    say(
        logging.WARNING,
        "the application loads the official agent (apache-skywalking) as well, which reports every request a second "
        "time once it is started: leave one of the two out",
    )
