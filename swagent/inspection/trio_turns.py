"""The turns of a run of trio's, for which trio calls an instrument."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import trio


class TrioTurns(trio.abc.Instrument):
    """Of the run that is under way. See `LoopTurns`."""

    def __init__(self) -> None:
        self._begin: Callable[[], object] = _nothing
        self._end: Callable[[], object] = _nothing

    def enter(self, begin: Callable[[], object], end: Callable[[], object]) -> bool:
        """Report from now on."""
        self._begin, self._end = begin, end
        trio.lowlevel.add_instrument(self)
        return True

    def leave(self) -> None:
        """Report no longer."""
        self._begin = self._end = _nothing
        # another thread, or a run that is over; and trio may have put it out
        with suppress(RuntimeError, KeyError):
            trio.lowlevel.remove_instrument(self)

    def before_io_wait(self, timeout: float) -> None:
        """A turn ends."""
        del timeout
        self._end()

    def after_io_wait(self, timeout: float) -> None:
        """A turn begins."""
        del timeout
        self._begin()


def _nothing() -> None:
    """Where nothing is reported."""
