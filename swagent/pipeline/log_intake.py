"""The intake of log records: plain ones as they were noted, and those that are converted already."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from ..acceleration import native
from ..agent_log import RateLimitedLog
from ..record.logs.entry import LogEntry
from ..record.logs.origin import NOWHERE
from ..record.logs.plain import FIELDS, NO_MORE
from .channel import Channel
from .intake import Pending

# They become bytes by column, as requests do.
LOGS = 64
_FIELDS = FIELDS + 2
_FULL = LOGS * _FIELDS
_NOTHING: tuple[Any, ...] = ("", "", "", 1.0, 0.0, "", NO_MORE, "", NOWHERE)


class LogEncoding(Protocol):
    """How log records become bytes."""

    def encode_alike(self, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        """Encode plain records, which come field by field; None for each that is not like earlier ones. Never
        raises."""
        ...

    def encode_plain(self, plain: Sequence[Any]) -> bytes:
        """Encode one plain record, whatever it is like. May raise."""
        ...

    def encode(self, entry: LogEntry) -> bytes:
        """Encode a record that is converted already. May raise."""
        ...


class LogIntake(Pending):
    """Takes log records in the order in which they were logged.

    Pending records are one list of fields, as in `SegmentIntake`: those of a plain record, then the converted one that
    takes its place, or None, and when it came.
    """

    def __init__(self, channel: Channel, encoding: LogEncoding, limited: RateLimitedLog) -> None:
        super().__init__(channel, limited)
        self._encoding = encoding
        self._clock = clock = channel.clock
        if native is not None:
            # the one in C takes the fields of a record as C has them, without a tuple
            its_own = None if clock is time.monotonic else clock
            self.offer_plain = native.LogRows(self._pending, _FULL, self.encode, channel, its_own)  # type: ignore[method-assign]

    def offer(self, entry: LogEntry) -> None:
        """Hand a converted record over, as `Intake.offer`."""
        self.offer_plain(_NOTHING, entry)

    def offer_plain(self, plain: tuple[Any, ...], entry: LogEntry | None = None) -> None:
        """Hand a plain record over, as `Intake.offer`.

        :param entry: that takes its place
        """
        pending = self._pending
        pending.extend(plain + (entry, self._clock()))  # noqa: RUF005  (takes half as long as unpacking)
        if len(pending) >= _FULL:
            self.encode()
        elif self._channel.ring_at <= 1:
            # not for the first record only: two threads may each find the other's here
            self._channel.wake_reader()

    def _encode_group(self) -> None:
        row = self._take(_FULL)
        *columns, entries, times = (row[at::_FIELDS] for at in range(_FIELDS))
        payloads: list[bytes | None] = [None] * len(times)
        if self._channel.has_room_for(len(times) - 1):
            payloads = [*self._encoding.encode_alike(columns)]
            if any(entries):
                payloads = [None if entry else each for entry, each in zip(entries, payloads, strict=True)]
        records = range(0, len(row), _FIELDS)
        self._encode_each(records, payloads, times, lambda at: self._encode_one(row[at : at + _FIELDS - 1]))

    def _encode_one(self, row: Sequence[Any]) -> bytes:
        *plain, entry = row
        return self._encoding.encode_plain(plain) if entry is None else self._encoding.encode(entry)
