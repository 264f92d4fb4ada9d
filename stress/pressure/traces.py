"""The traces of a run: what each service does in each of them. Pure, so that each process knows all of it."""

from __future__ import annotations

from binascii import crc32
from typing import Any, Literal

from swagent.record.trace.carrier import Carrier, format_sw8
from swagent.record.trace.model import Component
from swagent.request.finished import FinishedRequest

Kind = Literal["failed", "slow", "ordinary"]
SERVICES = 3
_FAILED, _SLOW = 10, 40
"""Of 1000 requests of each service: which failed, and which of the others are slow."""
_ENDPOINTS = 20


def kind_of(service: int, trace: int) -> Kind:
    """What a request of a service in a trace is like."""
    drawn = _draw(service, trace, "kind") % 1000
    return "failed" if drawn < _FAILED else "slow" if drawn < _SLOW else "ordinary"


def request_of(service: int, trace: int, number: int, now: float) -> FinishedRequest:
    """A request that ends now.

    :param number: of its ids
    :param now: by the monotonic clock
    """
    kind = kind_of(service, trace)
    drawn = _draw(service, trace, "time") % 1000 / 1000
    seconds = 0.5 + drawn if kind == "slow" else 0.004 + 0.004 * drawn
    caller = format_sw8(Carrier(True, f"trace-{trace:08}", f"caller-{trace:08}", 0, "gate", "gate", "GET:/", "shop"))
    place = f"/items/{trace % _ENDPOINTS}"
    facts: Any = ("GET", "http", b"shop", place, place, Component.FASTAPI, 500 if kind == "failed" else 200)
    return FinishedRequest(number, now - seconds, now, ("127.0.0.1", 80), caller.encode(), None, *facts)


def _draw(service: int, trace: int, what: str) -> int:
    return crc32(f"{what} {service} {trace}".encode()) >> 4
