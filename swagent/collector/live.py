"""Prints each trace once it has come to rest: when no new segment of it arrived for a second.

If too many come it prints a part of them and the number of the others: no person could read them all, and printing
takes longer than taking them in.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TextIO

from .store.bounded_map import BoundedMap
from .store.database import StoreError
from .store.store import Store
from .view import Palette, render

_LOG = logging.getLogger("swagent.collector")
QUIET_SECONDS = 1.0
MOST = 50
"""How many traces are printed at once, four times a second."""
# How many printed traces are remembered, to mark one that is printed again for its late segments.
_REMEMBERED = 20_000


class Debouncer:
    """Says which keys have come to rest. It has no clock: `now` is always an argument."""

    def __init__(self, quiet: float) -> None:
        """:param quiet: seconds without a touch that make a key come to rest"""
        self._quiet = quiet
        self._touched: OrderedDict[str, float] = OrderedDict()  # the longest untouched comes first

    def touch(self, key: str, now: float) -> None:
        """Note that something of this key has arrived."""
        self._touched[key] = now
        self._touched.move_to_end(key)

    def due_at(self) -> float | None:
        """When the next key comes to rest, if none is touched until then; None when there is no key."""
        first = next(iter(self._touched.values()), None)
        return None if first is None else first + self._quiet

    def take(self, now: float) -> list[str]:
        """Remove and return the keys that are at rest."""
        keys: list[str] = []
        while (due := self.due_at()) is not None and due <= now:
            keys.append(self._touched.popitem(last=False)[0])
        return keys


class LivePrinter:
    """Writes traces as they come to rest. asyncio only: it belongs to the loop of the intake it watches."""

    def __init__(
        self,
        store: Store,
        output: TextIO,
        palette: Palette,
        quiet: float = QUIET_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """:param quiet: seconds without a new segment after which a trace is printed"""
        self._store = store
        self._output = output
        self._palette = palette
        self._clock = clock
        self._quiet = quiet
        self._resting = Debouncer(quiet)
        self._arrived = asyncio.Event()
        self._printed = BoundedMap[str, None](_REMEMBERED)

    async def run(self) -> None:
        """Print until cancelled; the traces that have not come to rest by then are left to `finish`.

        :raises OSError: when the output cannot be written to
        """
        unfollow = self._store.follow(self._notice)
        try:
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                await self._print_resting()
        finally:
            unfollow()

    def finish(self) -> None:
        """Print what has not come to rest yet.

        :raises OSError: when the output cannot be written to
        """
        self._print(self._resting.take(float("inf")))

    def _notice(self, trace_id: str) -> None:
        self._resting.touch(trace_id, self._clock())
        self._arrived.set()

    async def _print_resting(self) -> None:
        while (due := self._resting.due_at()) is not None:
            await asyncio.sleep(max(due - self._clock(), 0.0))
            self._print(self._resting.take(self._clock()))
            await asyncio.sleep(self._quiet / 4)  # a limit to the rate, not a wait for something

    def _print(self, trace_ids: list[str]) -> None:
        try:
            for trace_id in trace_ids[:MOST]:
                self._print_one(trace_id)
        except StoreError as error:
            _LOG.warning("traces are not printed: %s", error)
        if len(trace_ids) > MOST:
            self._output.write(f"… {len(trace_ids) - MOST:,} more traces came at the same time\n\n")
        self._output.flush()

    def _print_one(self, trace_id: str) -> None:
        # empty when a flood has evicted the trace before its turn; the totals count that
        if segments := self._store.trace(trace_id):
            remark = "(again, with late segments)" if trace_id in self._printed else ""
            self._printed.put(trace_id, None)
            self._output.write(render(trace_id, segments, self._palette, remark) + "\n\n")
