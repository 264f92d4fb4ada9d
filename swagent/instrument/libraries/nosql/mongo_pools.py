"""The connection pools of pymongo, one for each server of a client."""

from __future__ import annotations

from typing import Any

from ....inspection import pools_inside
from ....self_meters.pools import Reading
from ...address import place_of
from ...patches import Patches
from ...pool_waits import PoolKind, report_pools, watch_pools


def watch_pymongo(patches: Patches, pool: Any) -> None:
    """Record the waits for pools of this class."""
    watch_pools(patches, pool, pools_inside.GET_OF_PYMONGO.name, _PYMONGO)
    report_pools(patches, pool, _read)


def _read(pool: Any) -> Reading:
    host, port = pool.address
    return Reading(
        place_of(host, port), pool.active_sockets, len(pool.conns), pools_inside.limit_of(pool.max_pool_size)
    )


_PYMONGO = PoolKind(pools_inside.pymongo_is_full, _read)
