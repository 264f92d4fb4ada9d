"""The connection pools of HTTP clients: httpcore's, which httpx sends through (httpx2 through httpcore2's), and
aiohttp's connectors.

Such a pool is for all places that its client calls. So a wait is named after the place that is called, and the meters
of a pool after the one place that its connections lead to, or after the library.
"""

from __future__ import annotations

import sys
from typing import Any

from ....inspection import pools_inside
from ....self_meters.pools import Reading
from ...address import place_of
from ...arguments import Args, Kwargs, argument
from ...patches import Patches
from ...pool_waits import Acquired, PoolKind, report_pools, watch_pools

_LOOKED_AT = 1000


def watch_httpcore(patches: Patches, module: Any) -> None:
    """Record the waits for the pools of httpcore or httpcore2."""
    names, kind = _HTTPCORES[module.__name__]
    for pool in (module.AsyncConnectionPool, module.ConnectionPool):
        report_pools(patches, pool, kind.read)
    for place, name in names.waits.items():
        request = getattr(sys.modules.get(place), name, None)
        if request is not None:
            watch_pools(patches, request, names.wait.name, kind)


def _kind_of_httpcore(names: pools_inside.HttpcoreNames, client: str) -> PoolKind:
    def read(pool: Any) -> Reading:
        connections = pools_inside.first_of(names.connections.of(pool, ()), _LOOKED_AT)
        idle = sum(bool(each.is_idle()) for each in connections)
        places = {_label_of(origin) for each in connections if (origin := getattr(each, "_origin", None)) is not None}
        label = places.pop() if len(places) == 1 else client
        return Reading(label, len(connections) - idle, idle, pools_inside.limit_of(names.limit.of(pool)))

    def find(request: Any, *_: object) -> Acquired:
        frame = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        pool = pools_inside.pool_of_httpcore(frame)
        if pool is None:
            raise LookupError("the pool of a request cannot be seen")
        return pool, read(pool)._replace(label=_label_of(request.request.url.origin))

    return PoolKind(pools_inside.httpcore_is_full, read, find)


_HTTPCORES = {
    "httpcore": (pools_inside.HTTPCORE, _kind_of_httpcore(pools_inside.HTTPCORE, "httpx")),
    "httpcore2": (pools_inside.HTTPCORE2, _kind_of_httpcore(pools_inside.HTTPCORE2, "httpx2")),
}


def _label_of(origin: Any) -> str:
    return place_of(origin.host.decode("ascii", "replace"), origin.port)


def watch_aiohttp(patches: Patches, connector: Any) -> None:
    """Record the waits for connectors of this class and those that are made of it."""
    watch_pools(patches, connector, pools_inside.WAIT_OF_AIOHTTP.name, _AIOHTTP)
    report_pools(patches, connector, _read_aiohttp)


def _find_aiohttp(connector: Any, args: Args, kwargs: Kwargs) -> Acquired:
    key = argument(args, kwargs, 0, "key")
    reading = _read_aiohttp(connector)._replace(label=_place_of_key(key))
    per_host = connector.limit_per_host
    if per_host and (not reading.limit or reading.in_use < reading.limit):
        there = pools_inside.ACQUIRED_PER_HOST_OF_AIOHTTP.of(connector, {}).get(key, ())
        reading = reading._replace(in_use=len(there), limit=per_host)
    return connector, reading


def _read_aiohttp(connector: Any) -> Reading:
    acquired = len(pools_inside.ACQUIRED_OF_AIOHTTP.of(connector, ()))
    kept = dict(pools_inside.CONNECTIONS_OF_AIOHTTP.of(connector, {}))
    keys = {*kept, *dict(pools_inside.ACQUIRED_PER_HOST_OF_AIOHTTP.of(connector, {}))}
    places = {_place_of_key(key) for key in keys}
    label = places.pop() if len(places) == 1 else "aiohttp"
    return Reading(label, acquired, sum(map(len, kept.values())), pools_inside.limit_of(connector.limit))


def _place_of_key(key: Any) -> str:
    return place_of(key.host, key.port or (443 if key.is_ssl else 80))


def _has_to_wait(_: object) -> bool:
    return True  # the method that waits is called for nothing else


_AIOHTTP = PoolKind(_has_to_wait, _read_aiohttp, _find_aiohttp)
