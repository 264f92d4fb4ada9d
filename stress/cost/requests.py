"""The requests that are counted, as the bytes that a client sends."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

BLOCK = 512
"""Requests that are counted at a time: a batch of the agent's, and so a whole number of its smaller groups."""

WARM_UP = 8.5
"""Blocks before the count: after six the figures stay within a tenth of a percent. Half a block more than whole ones:
so batches are sent in the middle of blocks."""


@dataclass(frozen=True)
class Case:
    """:ivar path: the handler's
    :ivar logs: how many log records a request reports
    :ivar headers: of each request in a block, by its number
    :ivar meaning: for people
    :ivar block: how many requests are counted at a time
    :ivar freezes: whether the objects that are alive before the count are left out of garbage collections. Requests
        that wait make so many objects that a full collection falls into every other block
    """

    path: str
    logs: int
    headers: Callable[[int], str]
    meaning: str
    block: int = BLOCK
    freezes: bool = False

    @property
    def warm_up(self) -> int:
        """How many requests come before the count."""
        return round(WARM_UP * self.block)

    def requests(self) -> Sequence[bytes]:
        """Those of a block."""
        return [
            f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n{self.headers(number)}\r\n".encode()
            for number in range(self.block)
        ]


def _none(_: int) -> str:
    return ""


def _sw8(number: int) -> str:
    """The header of a caller that is traced: another trace each time, as they come."""
    trace, segment = f"{number:032x}.1.{number:017}", f"{number:032x}.1.{number + 1:017}"
    fields = (trace, segment, "caller", "caller-1", "/ask", "127.0.0.1:8000")
    parts = [base64.b64encode(field.encode()).decode() for field in fields]
    return f"sw8: 1-{parts[0]}-{parts[1]}-0-{'-'.join(parts[2:])}\r\n"


CASES: Mapping[str, Case] = {
    "trivial": Case("/trivial", 0, _none, "returns a constant"),
    "await": Case("/await", 1, _none, "waits 5 ms and logs a WARNING, which is reported"),
    "info": Case("/info", 0, _none, "as trivial, with a logger.info() that the application prints"),
    "sw8": Case("/trivial", 0, _sw8, "as trivial, asked by a caller that is traced"),
    "query": Case("/query", 0, _none, "asks a database once, by asyncpg", freezes=True),
    "queries": Case("/queries", 0, _none, "asks a database 41 times, by asyncpg", BLOCK // 8, freezes=True),
    "call": Case("/fetch", 0, _none, "calls a service, by httpx", freezes=True),
}
SHORT = ("trivial", "await", "query", "call")
"""The cases that the short form counts."""


def warm_up(block: Sequence[bytes]) -> Sequence[bytes]:
    """The requests that are served before the count, taken from a block."""
    return (tuple(block) * ceil(WARM_UP))[: round(WARM_UP * len(block))]
