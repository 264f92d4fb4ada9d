"""The facts of a request, as they are while it is served.

They are described later (`description`), so the span of a request is the same whether it was needed meanwhile or not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

UNMATCHED = "_unmatched"
"""Stands where the template would, of a request that none of the application's routes took."""
WEBSOCKET = "WEBSOCKET"
"""Stands where the method would, of a websocket."""
OTHER = "_OTHER"
"""Stands for what cannot be read."""


class Facts(NamedTuple):
    """What its span says of a request, as it was written."""

    method: str
    """A known one; WEBSOCKET, or OTHER."""
    scheme: str
    host: bytes
    path: str
    template: str | None
    """Of the route that took it; UNMATCHED, or None where nobody tells."""
    component: int
    status: int
    """0 where the response never began."""


class FinishedRequest(NamedTuple):
    """A request that is over and whose span nobody needed: what it takes to make its segment."""

    number: int
    """Of the ids of its trace and of its segment."""
    start: float
    """As the end, by the monotonic clock."""
    end: float
    client: tuple[Any, ...] | None
    caller: bytes | None
    """The header `sw8` that came with it, where it is trusted."""
    method: str
    scheme: str
    host: bytes
    path: str
    template: str | None
    component: int
    status: int


FIELDS = len(FinishedRequest._fields)
