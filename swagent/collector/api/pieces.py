"""Reads much of the store piece by piece. A piece keeps the database for about 5 ms, so the intake need not wait longer
before it writes. An answer contains the records that were kept when it began. A later one is in the next answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ..cancelling import stop_if_cancelled
from ..store.store import Store

SECONDS = 0.005
"""How long a piece takes, about."""
_FIRST, _MOST = 250, 16_000


class PieceSize:
    """How large the next piece is.

    :ivar rows: so many that the piece takes about `SECONDS`
    """

    def __init__(self) -> None:
        self.rows = _FIRST
        self._began = 0.0

    def begin(self) -> None:
        """Begin with a piece of `rows` rows."""
        stop_if_cancelled()
        self._began = time.perf_counter()

    def end(self) -> None:
        """Make the next piece larger or smaller, after how long this one took."""
        took = time.perf_counter() - self._began
        if took < SECONDS / 2:
            self.rows = min(self.rows * 2, _MOST)
        elif took > SECONDS * 2:
            self.rows = max(self.rows // 2, 1)


def pieces(store: Store, table: str, after: int = 0) -> Iterator[dict[str, Any]]:
    """Ranges of a table's rows, the oldest first: for a query that takes those with a number above `:low`, up to
    `:high`, and looks at none above `:last`, which is the last of all.

    :param after: the number of the last row that is known already
    :raises StoreError: when the store cannot be read or written
    """
    low, last = store.numbers(table)
    low = max(low, after)
    size = PieceSize()
    while low < last:
        high = min(low + size.rows, last)
        size.begin()
        yield {"low": low, "high": high, "last": last}
        size.end()
        low = high
