"""Which share of the ordinary segments is kept while their channel is nearly full. Pure: the time is an argument.

Theory of operation
-------------------
Services that take part in one trace keep the same traces if their rates are alike, since each trace has the same place
between 0 and 1 everywhere. So a rate must not follow the fill at once: that goes up and down with each batch, and in
each service at another moment. The rate is what the collector takes, less what is kept anyway, of what comes. All three
are measured over the last twenty seconds, and from one verdict to the next, since records leave a batch at a time. A
small correction keeps the channel at a fill from which bursts have room.

In the first two seconds nothing is measured yet. Then, and close to the end of the room, the rate follows the fill.
"""

from __future__ import annotations

from binascii import crc32

NEARLY_FULL = 0.75
"""The fill from which ordinary segments are dropped; below it, everything is kept."""
_RELIEVED = 0.65
"""The fill below which a time of pressure is over."""
_AIM = 0.85
"""The fill that the rate keeps up: what matters has the rest for itself."""
_SCARCE, _RESERVED = 0.93, 0.97
"""From the first of them on the rate goes down with the room, and from the second on nothing ordinary is kept."""
_SPAN = 20.0
"""Seconds over which the flows are measured, and in which the fill returns to its aim."""
_UNKNOWN = 2.0
"""Seconds in which the flows are not known yet."""
_SHORTEST, _LONGEST = 0.2, 5.0
"""Seconds between two measurements: at least, and at most where no verdict comes."""
_PLACES = 1 << 32


def place_of(trace_id: bytes) -> float:
    """The place of a trace, from 0 up to 1: it is kept where the rate is higher. The same in each process."""
    return crc32(trace_id) / _PLACES


class KeepRate:
    """The rate of one channel. One caller at a time.

    :ivar rate: the share of the ordinary segments that is kept now, from 0 to 1
    :ivar episode: how many times of pressure there were so far, this one included
    """

    def __init__(self) -> None:
        self.rate = 1.0
        self.episode = 0
        self._flows: _Flows | None = None

    @property
    def is_pressed(self) -> bool:
        """Whether a time of pressure has begun, and is not over as far as is known."""
        return self._flows is not None

    def look(self, held: int, fill: float, now: float) -> float:
        """The rate for the next records.

        :param held: how many records the channel holds
        :param fill: the share of its room that they take
        :param now: in seconds, by any clock that only goes forward
        """
        if fill < _RELIEVED:
            self._flows = None
        elif self._flows is None and fill >= NEARLY_FULL:
            self._flows = _Flows(held, now)
            self.episode += 1
        if self._flows is not None:
            self._flows.measure(held, fill, now)
        self.rate = 1.0 if self._flows is None or fill < NEARLY_FULL else self._flows.rate(fill, now)
        return self.rate

    def note(self, ordinary: int, kept_ordinary: int, kept_anyway: int) -> None:
        """Count what has come since the last look, by what became of it."""
        if self._flows is not None:
            self._flows.ordinary += ordinary
            self._flows.anyway += kept_anyway
            self._flows.kept += kept_ordinary + kept_anyway


class _Flows:
    """Records a second, since a time of pressure began.

    :ivar ordinary: how many ordinary records came since the last measurement
    :ivar anyway: how many records were kept that are not ordinary, since then
    :ivar kept: how many records were kept, since the last look
    """

    def __init__(self, held: int, now: float) -> None:
        self.ordinary = self.anyway = self.kept = 0
        self._since = self._measured_at = now
        self._held = held
        self._left = 0
        self._rates = (0.0, 0.0, 0.0)
        self._measured = 1.0

    def measure(self, held: int, fill: float, now: float) -> None:
        """Take in what has come and gone. Right after a verdict the counts are those of whole batches."""
        left = max(0, self._held + self.kept - held)
        self._left += left
        self._held, self.kept = held, 0
        seconds = now - self._measured_at
        if seconds < _SHORTEST or (not left and seconds < _LONGEST):
            return
        weight = min(1.0, seconds / min(_SPAN, now - self._since))
        counts = self.ordinary, self.anyway, self._left
        self._rates = ordinary, anyway, left_rate = tuple(  # type: ignore[assignment]
            rate + (count / seconds - rate) * weight for rate, count in zip(self._rates, counts, strict=True)
        )
        self.ordinary = self.anyway = self._left = 0
        self._measured_at = now
        correction = (_AIM - fill) * held / fill / _SPAN
        if ordinary:
            self._measured = min(1.0, max(0.0, (left_rate - anyway + correction) / ordinary))

    def rate(self, fill: float, now: float) -> float:
        """The rate at this fill."""
        if now - self._since < _UNKNOWN:
            room = max(0.0, _RESERVED - fill) / (_RESERVED - NEARLY_FULL)
            return min(self._measured, room * room)
        return self._measured * min(1.0, max(0.0, _RESERVED - fill) / (_RESERVED - _SCARCE))
