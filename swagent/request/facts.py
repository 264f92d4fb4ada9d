"""The facts of a request, as they are while it is served.

They are described later (`description`), so a request has the same span on the fast path and on the full one.
"""

from __future__ import annotations

from typing import NamedTuple

UNMATCHED = "_unmatched"
"""The template of a request that matched none of the application's routes."""
WEBSOCKET = "WEBSOCKET"
"""The method of a websocket."""
OTHER = "_OTHER"
"""A value that cannot be read."""


class Facts(NamedTuple):
    """The facts from which the span of a request is described."""

    method: str
    """A known method, WEBSOCKET or OTHER."""
    scheme: str
    host: bytes
    path: str
    template: str | None
    """The template of the route; UNMATCHED, or None where the framework does not show its routes."""
    component: int
    status: int
    """0 if the response never began."""
