"""The layout of the rows of finished requests.

A request whose span was never needed goes to its intake as plain fields, one after the other, and the next request's
fields follow in the same list. So there is no tuple of each request for the garbage collector to count, and the fields
of one name are a slice of the list: a column.

A segment that is made already goes into the same list, so that the order is kept. It takes the row of a request: its
number is NO_REQUEST, which no request has, the segment is in the field SEGMENT, and the facts are NO_FACTS. Both of its
times are the same, and by the channel's clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .facts import Facts
from .split_times import SplitTimes


class FinishedRequest(NamedTuple):
    """A request that is over and whose span was never needed: what it takes to make its segment. The fields from
    FACTS on are those of `Facts`."""

    number: int
    """The ids of its trace and of its segment are made from this number."""
    start: float
    """By the monotonic clock, as `end`."""
    end: float
    client: tuple[object, ...] | None
    caller: bytes | None
    """The header `sw8` that came with it, where it is trusted."""
    times: SplitTimes | None
    """Where its time went; None: its time was not split."""
    method: str
    scheme: str
    host: bytes
    path: str
    template: str | None
    component: int
    status: int


FIELDS = len(FinishedRequest._fields)
"""How many fields a request takes."""
NUMBER, START, END, CLIENT, CALLER, TIMES, FACTS = range(7)
"""Where its own fields are, and the first of its facts."""

NO_REQUEST = 0
"""The number of a row that is a segment."""
SEGMENT = CALLER
"""Where the segment is in such a row."""
# a plain tuple, which is joined in less time than a named one
NO_FACTS: tuple[object, ...] = tuple(Facts("", "", b"", "", None, 0, 0))


def columns(row: Sequence[Any]) -> list[Sequence[Any]]:
    """The fields of several requests, column by column, in the order of `FinishedRequest`."""
    return [row[at::FIELDS] for at in range(FIELDS)]
