"""When a batch is due. Pure: what waits and what time it is are arguments."""

from __future__ import annotations

import math
from typing import NamedTuple


class Batcher(NamedTuple):
    """A batch is due when it is full, by items or bytes, or when its oldest record has waited long enough."""

    max_items: int
    max_bytes: int
    max_delay: float

    def due_at(self, items: int, size: int, oldest_at: float) -> float:
        """The time from which a batch is due: already, later, or never as long as nothing more comes.

        :param items: how many records wait
        :param size: their bytes
        :param oldest_at: when the oldest of them was offered
        """
        if not items:
            return math.inf
        if items >= self.max_items or size >= self.max_bytes:
            return -math.inf
        return oldest_at + self.max_delay
