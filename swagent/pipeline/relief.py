"""Spares a nearly full channel the ordinary segments, before anything is spent on their encoding."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from ..ledger import Refusal
from ..request.finished import FIELDS
from .channel import Channel
from .keep_rate import NEARLY_FULL
from .shedding import Outline, Shedding

# While nothing is dropped, one record in so many is looked at for how long it took.
_LEARNED_OF = 256 * FIELDS


class OutlineReading(Protocol):
    """How the outlines of records are read."""

    def read(self, finished: Sequence[Any]) -> Outline | None:
        """The outline of a record; None: it is not recorded. May raise."""
        ...


class Relief:
    """The last step of pending segments before their channel. One caller at a time.

    :ivar shedding: decides which segments are dropped
    """

    def __init__(self, channel: Channel, outlines: OutlineReading) -> None:
        self._channel = channel
        self._outlines = outlines
        self.shedding = Shedding()
        self._unlearned = 0

    def spare(self, row: list[Any]) -> list[Any]:
        """The records of a row that the channel is not spared: usually all, and the very same list. The others are
        counted as refused. Never raises.

        :param row: the fields of one record after the other, see `request/finished.py`
        """
        pressure, channel = self.shedding.pressure, self._channel
        fill = channel.fill
        if fill < NEARLY_FULL and not pressure.is_pressed:
            self._unlearned += len(row)
            if self._unlearned >= _LEARNED_OF:
                self._unlearned = 0
                self._learn(row[:FIELDS])
            return row
        if channel.has_room_beside:
            return row
        # in an outage nothing else drops them, and the newest would be shed for what is never sent
        if fill >= NEARLY_FULL and channel.drop_expired():
            fill = channel.fill
        pressure.look(channel.held, fill, channel.clock())
        return row if channel.is_closed else self._choose(row)

    def _choose(self, row: list[Any]) -> list[Any]:
        kept: list[Any] = []
        for at in range(0, len(row), FIELDS):
            finished = row[at : at + FIELDS]
            if self._keeps(finished):
                kept += finished
        spared = (len(row) - len(kept)) // FIELDS
        if spared:
            self._channel.refuse(Refusal.SHED, spared)
        return kept

    def _learn(self, finished: Sequence[Any]) -> None:
        # what no specification knows, or a name that cannot be hashed: its encoding fails too, and is counted
        with suppress(Exception):
            outline = self._outlines.read(finished)
            if outline is not None:
                self.shedding.learn(outline)

    def _keeps(self, finished: Sequence[Any]) -> bool:
        try:
            outline = self._outlines.read(finished)
            return outline is None or self.shedding.keeps(outline)
        except Exception:  # noqa: BLE001, RUF100  (as above)
            return True
