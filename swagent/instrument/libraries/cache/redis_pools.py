"""The connection pools of Redis and Valkey. Only the blocking ones make a call wait; the others raise an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....inspection import pools_inside
from ....self_meters.pools import Reading
from ...patches import Patches
from ...pool_waits import PoolKind, report_pools, watch_pools


def watch_redis(patches: Patches, module: Any, place_of_pool: Callable[[Any], str]) -> None:
    """Record the waits for the pools of a module.

    :param module: with the classes of its pools
    :param place_of_pool: gives the address that a pool's connections lead to
    """

    def read(pool: Any) -> Reading:
        label = f"{place_of_pool(pool)}/{pool.connection_kwargs.get('db') or 0}"
        limit = pools_inside.limit_of(pool.max_connections)
        queue = pools_inside.QUEUE_OF_REDIS.of(pool)
        if queue is not None:
            in_use = int(pool.max_connections) - queue.qsize()
            made = len(pools_inside.CONNECTIONS_OF_REDIS.of(pool, ()))
            return Reading(label, in_use, max(made - in_use, 0), limit)
        in_use, idle = pools_inside.IN_USE_OF_REDIS.of(pool, ()), pools_inside.IDLE_OF_REDIS.of(pool, ())
        return Reading(label, len(in_use), len(idle), limit)

    blocking = module.BlockingConnectionPool
    watch_pools(patches, blocking, "get_connection", PoolKind(pools_inside.redis_is_full, read))
    report_pools(patches, module.ConnectionPool, read)
