"""Reads much of the store piece by piece. An answer contains what was kept when it began. What came since is in the
next one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ..pace import Pace
from ..store.store import Store


async def pieces(store: Store, table: str, pace: Pace, after: int = 0) -> AsyncIterator[dict[str, Any]]:
    """Ranges of a table's rows, the oldest first: for a query that takes those with a number above `:low`, up to
    `:high`, and looks at none above `:last`, which is the last of all.

    :param after: the number of the last row that is known already
    :raises StoreError: when the store cannot be read or written
    """
    low, last = store.numbers(table)
    low = max(low, after)
    while low < last:
        high = min(low + pace.size, last)
        yield {"low": low, "high": high, "last": last}
        low = high
        await pace.step()
