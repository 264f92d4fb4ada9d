"""Processor time of a call inside a request."""

from __future__ import annotations

import time
from collections.abc import Callable

from swagent import entry_span
from swagent.opentelemetry import install, uninstall
from swagent.record.trace import tracer as tracers
from swagent.record.trace.tracer import Tracer

_CALLS_A_REQUEST = 50
_MICROSECONDS = 1e6


def measure(call: Callable[[], object], rounds: int, calls: int) -> float:
    """Microseconds of processor time that one call takes, in the quickest round.

    :param calls: in a round
    """
    tracer = Tracer("shop", "shop-1", lambda _: None)
    tracers.install(tracer)
    install(instrument=False)
    try:
        return min(_round(call, max(1, calls // _CALLS_A_REQUEST)) for _ in range(rounds))
    finally:
        uninstall()
        tracers.uninstall(tracer)


def _round(call: Callable[[], object], requests: int) -> float:
    begun = time.thread_time()
    for _ in range(requests):
        with entry_span("GET:/cart"):
            for _ in range(_CALLS_A_REQUEST):
                call()
    return (time.thread_time() - begun) / (requests * _CALLS_A_REQUEST) * _MICROSECONDS
