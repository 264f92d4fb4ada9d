"""The program that logs lines: `python -m stress.lessons.logging_program LINES ROUNDS`; prints microseconds a line."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping

import swagent

from .lesson import middle_of_rounds

BASE = "below the logger's level"
_ORDERS = [{"id": number, "state": "paid", "items": ["a", "b", "c"]} for number in range(200)]
_quiet, _open = logging.getLogger("lesson.quiet"), logging.getLogger("lesson.open")

WAYS: Mapping[str, Callable[[], None]] = {
    "formatted, then not wanted": lambda: _quiet.debug(f"orders: {_ORDERS}"),
    BASE: lambda: _quiet.debug("orders: %s", _ORDERS),
    "made for handlers, below the reported level": lambda: _open.debug("orders: %s", _ORDERS),
    "reported": lambda: _open.warning("orders: %s", _ORDERS),
}
"""The lines. The last one is reported where there is an agent; a handler that does nothing takes it here."""


def main(lines: str, rounds: str) -> None:
    """Log so many of each in a round."""
    for logger, level in ((_quiet, logging.WARNING), (_open, logging.DEBUG)):
        logger.setLevel(level)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
    count = int(lines)

    def micros(way: str) -> float:
        log = WAYS[way]
        # inside a request, with which the agent starts
        with swagent.entry_span("GET:/orders"):
            log()
            began = time.thread_time()
            for _ in range(count):
                log()
            return (time.thread_time() - began) / count * 1e6

    print(json.dumps(middle_of_rounds(list(WAYS), int(rounds), micros)))


if __name__ == "__main__":
    main(*sys.argv[1:])
