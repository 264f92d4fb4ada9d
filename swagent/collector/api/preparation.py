"""Makes an answer that takes long before the first person asks for it.

From the second look on the last answer is given at once (`Memo`). Of many records the first one would take half a
second. It is made anew whenever the records have doubled, so it costs a few answers in the life of a collector, however
many records come and whether or not a person ever looks.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable

import anyio

from ..store.database import StoreError
from ..store.store import Store

_LOG = logging.getLogger("swagent.collector")
FEWEST = 20_000
"""Records; the answer about fewer is quickly made."""
INTERVAL = 5.0
"""Seconds between two looks at how many there are, at least."""


async def prepare(store: Store, ask: Callable[[], Awaitable[object]]) -> None:
    """Have the answer made at the beginning, where there are many records then, and each time that they have doubled.
    It runs until it is cancelled.

    :param ask: makes the answer, and lets it be kept
    """
    wanted = FEWEST
    while True:
        seen = store.version
        if seen >= wanted:
            wanted = 2 * seen
            try:
                await ask()
            except StoreError as error:
                _LOG.warning("%s", error)
        await store.wait_until(lambda seen=seen: store.version != seen, math.inf)  # type: ignore[misc]
        await anyio.sleep(INTERVAL)  # a limit to the rate, not a wait for something
