"""What becomes of the records that are spilled, through all lives: looked at from outside, with eyes of its own for
what stands in the files.

    in memory --written--> in a file --brought back--> under way, and a file says so --verdict--> fated
                              |                              |
                              +--- the application dies -----+--> the next life counts each, once
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch
from zlib import crc32

from swagent import Agent
from swagent.pipeline.channel import Channel
from swagent.pipeline.spill.channel import SpillingChannel
from swagent.pipeline.spill.files import Found, SpillFile
from swagent.pipeline.spill.records import Record

from .collector import numbers_in
from .disk import Device
from .history import History

_HEAD = struct.Struct("<8s8s8sdII")
_RECORD = struct.Struct("<IIQd")
_FEW = 50


class Content:
    """What a file says, by its format.

    :ivar records: the numbers of its whole records, as the application has numbered them
    :ivar leased: how many of them, the first, may have been sent
    :ivar settled: how many of these have a verdict
    """

    def __init__(self, data: bytes) -> None:
        self.records: list[int] = []
        self.leased = self.settled = 0
        if len(data) < _HEAD.size:
            return
        *_, leased, settled = _HEAD.unpack_from(data)
        place, last = _HEAD.size, 0
        while place + _RECORD.size <= len(data):
            checksum, size, number, _ = _RECORD.unpack_from(data, place)
            first = place + _RECORD.size
            payload, checked = data[first : first + size], data[place + 4 : first]
            if len(payload) < size or crc32(payload, crc32(checked)) != checksum or number <= last:
                break
            self.records += numbers_in(payload)[:1]
            place, last = first + size, number
        self.leased = min(leased, len(self.records))
        self.settled = min(settled, self.leased)

    @property
    def waiting(self) -> list[int]:
        """Those that were not sent."""
        return self.records[self.leased :]


class Spilled:
    """The checks of one run."""

    def __init__(self, device: Device, history: History) -> None:
        self._device = device
        self._history = history
        self._written: set[int] = set()  # in files, and not leased
        self._brought: set[int] = set()  # leased in files, and without a verdict
        self._recovered = 0  # in this life
        self._owed: set[int] = set()
        self._fated: set[int] = set()

    def note_fate(self, numbers: Sequence[int]) -> None:
        """These have a verdict."""
        self._brought.difference_update(numbers)
        self._fated.update(numbers)

    def look(self, channel: SpillingChannel) -> None:
        """Look at what is behind a channel."""
        backlog = channel.backlog
        known = sum(each.count - each.leased for each in backlog.files) + len(backlog.staged)
        if backlog.count != known:
            self._history.violate(f"{known} records are behind the channel, and {backlog.count} counted: {channel}")
        inside: Any = channel
        row = inside._queue._row
        # what comes from a former life is behind the records that were there before, and may be before later ones
        if row and not self._recovered and row[-2] + len(row[-4]) > backlog.oldest_number:
            self._history.violate(f"records wait before older ones on disk: {channel}")
        # a long row is not summed up again and again
        size = backlog.staged_bytes
        if len(backlog.staged) <= _FEW:
            size = sum(len(each.payload) for each in backlog.staged)
        if backlog.staged_bytes != size:
            self._history.violate(f"{size} bytes wait for the disk, and {backlog.staged_bytes} are counted: {channel}")

    def die(self, *, has_power: bool) -> None:
        """The application dies."""
        self._device.kill(has_power=has_power)
        contents = self._contents()
        leased = {number for each in contents for number in each.records[: each.leased]}
        waiting = {number for each in contents for number in each.waiting}
        unsaid = sum(each.leased - each.settled for each in contents)
        if has_power:
            self._expect_none(self._written - leased - waiting, "are spilled, and no file has them")
        self._expect_none(self._brought - leased, "came from a file, and none says that they are under way")
        if len(self._brought) > unsaid:
            self._history.violate(f"{len(self._brought)} records came from files, which say that of {unsaid}")
        self._fated |= leased
        if not has_power:
            # what never reached the disk is lost, though another process had found it there
            self._owed &= self._fated | waiting
        self._begin_anew(waiting)

    def end(self, agent: Agent) -> None:
        """An agent has stopped."""
        statistics = agent.statistics()
        spilled = statistics.segment.spilled + statistics.log.spilled
        if spilled != len(self._written):
            self._history.violate(
                f"{spilled} records are said to be on disk, and {len(self._written)} are: {statistics}"
            )
        recovered = statistics.segment.recovered + statistics.log.recovered
        if recovered != self._recovered:
            self._history.violate(f"{recovered} records are said to come from disk, and {self._recovered} do")
        waiting = {number for each in self._contents() for number in each.waiting}
        leased = {number for each in self._contents() for number in each.records[: each.leased]}
        self._expect_none(self._written - waiting - leased, "are left on disk, and no file has them")
        self._begin_anew(waiting)

    def end_all(self) -> None:
        """The history is over."""
        self._expect_none({number for each in self._contents() for number in each.waiting}, "are on disk for ever")
        self._expect_none(self._owed - self._fated, "were on disk, and nothing has become of them")

    def _begin_anew(self, waiting: set[int]) -> None:
        self._owed |= waiting
        self._written.clear()
        self._brought.clear()
        self._recovered = 0

    def _contents(self) -> list[Content]:
        return [Content(bytes(file.data)) for place in self._device.places for file in place.files.values()]

    def _expect_none(self, numbers: set[int], text: str) -> None:
        if numbers:
            self._history.violate(f"records {sorted(numbers)[:5]} {text}")

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """See what comes to files, and back."""
        see = partial(_before, is_dead=lambda: self._device.is_dead)
        with ExitStack() as stack:
            for name in ("note_written", "bring_back", "take_in", "lose_first"):
                seen = getattr(self, f"_seen_{name}")
                stack.enter_context(patch.object(SpillingChannel, name, see(getattr(SpillingChannel, name), seen)))
            stack.enter_context(patch.object(Channel, "_drop_head", see(Channel._drop_head, self._seen_drop_head)))
            overflow = SpillingChannel._overflow

            def seen_overflow(channel: SpillingChannel, payload: bytes, at: float) -> bool:
                is_taken = overflow(channel, payload, at)
                if (
                    not is_taken
                    and not self._device.is_dead
                    and channel._spills
                    and channel.backlog.has_room(len(payload))
                ):
                    self._history.violate(f"refused, and there is room for the disk: {channel}")
                return is_taken

            stack.enter_context(patch.object(SpillingChannel, "_overflow", seen_overflow))
            yield

    def _seen_note_written(self, _: SpillingChannel, file: SpillFile, records: Sequence[Record], size: int) -> None:
        self._written.update(_numbers(records))

    def _seen_bring_back(self, _: SpillingChannel, file: SpillFile, records: Sequence[Record], position: int) -> None:
        numbers = _numbers(records)
        self._written.difference_update(numbers)
        self._brought.update(numbers)

    def _seen_take_in(self, channel: SpillingChannel, found: Found, shift: float) -> None:
        content = self._content_of(found.file)
        read = (found.file.count, found.file.leased, found.file.settled)
        if read != (len(content.records), content.leased, content.settled):
            known = f"{len(content.records)} records, {content.leased} leased, {content.settled} settled"
            self._history.violate(f"a file of {known} is read as {read}: {channel}")
        self._recovered += len(content.records) - content.settled
        self._written.update(content.waiting)
        self._fated.update(content.records[: content.leased])

    def _seen_lose_first(self, channel: SpillingChannel) -> None:
        numbers = self._content_of(channel.backlog.files[0]).waiting
        self._written.difference_update(numbers)
        self._fated.update(numbers)

    def _seen_drop_head(self, channel: Channel, reason: object) -> None:
        inside: Any = channel
        self.note_fate(numbers_in(inside._queue._row[0][0])[:1])

    def _content_of(self, file: SpillFile) -> Content:
        return Content(self._device.content_of(file.name))


def _before(function: Callable[..., Any], seen: Callable[..., None], is_dead: Callable[[], bool]) -> Callable[..., Any]:
    """The function, and what sees its arguments before, as long as the application lives."""

    def seeing(*args: Any) -> Any:
        if not is_dead():
            seen(*args)
        return function(*args)

    return seeing


def _numbers(records: Sequence[Record]) -> list[int]:
    return [number for record in records for number in numbers_in(record.payload)[:1]]
