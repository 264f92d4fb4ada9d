"""The jobs of the tests of RQ."""

from __future__ import annotations

import os
import time

from swagent import local_span

attempts: list[int] = []


def price(item: int) -> int:
    with local_span("work"):
        return item * 2


def fail() -> None:
    raise LookupError("no such order")


def again() -> None:
    attempts.append(os.getpid())
    if len(attempts) == 1:
        raise LookupError("busy")


def hang() -> None:
    time.sleep(60)
