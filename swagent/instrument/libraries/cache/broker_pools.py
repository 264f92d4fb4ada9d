"""Connection pools through which a message library speaks to a cache that serves it as its broker.

Such a library asks for messages, reports that it is alive, and cleans up, again and again, outside of any request: each
of these commands would be a trace of its own. Within a request, its commands are calls as any other.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from ....record.trace.context import active_span, current
from ...address import place_of

_DEFAULT_PORT = 6379
_pools: WeakSet[Any] = WeakSet()


def note_broker_pool(pool: Any) -> None:
    """Know a pool from now on, for as long as it lives."""
    _pools.add(pool)


def is_upkeep(client: Any) -> bool:
    """Whether a client's command is one of those that a message library sends outside of any request."""
    return bool(_pools) and getattr(client, "connection_pool", None) in _pools and active_span(current.get()) is None


def place_of_pool(pool: Any) -> str:
    """The address of the server that a pool of redis-py connects to: `host:port`, or `unix:path`."""
    kwargs = pool.connection_kwargs
    host = kwargs.get("host")
    if host is None:
        path = kwargs.get("path")
        if path is not None:
            return place_of(path, None)
        # found by sentinels: known once it is connected
        host, port = getattr(pool, "master_address", None) or (getattr(pool, "service_name", "localhost"), None)
        return place_of(host, port or _DEFAULT_PORT)
    return place_of(host, kwargs.get("port", _DEFAULT_PORT))
