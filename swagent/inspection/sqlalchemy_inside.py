"""The internals of SQLAlchemy's asynchronous sessions that are looked at. The sessions run in greenlets."""

from __future__ import annotations

from .touched import Attribute, Function, Library, Local

LIBRARY = Library("sqlalchemy", ">=2,<3")

_SPAWN = Function(LIBRARY, "sqlalchemy.util", "greenlet_spawn", "where a request is while it waits for a query")
GREENLET = Local(_SPAWN, "context")
_GREENLETS = Library("greenlet", ">=1")
NAME = "greenlet_spawn"
"""Its module is another one in each version."""
FRAME_OF_GREENLET = Attribute(
    _GREENLETS, "greenlet:greenlet", "gr_frame", "where a request is while it waits for a query"
)
