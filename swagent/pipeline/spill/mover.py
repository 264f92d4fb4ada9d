"""Moves the records of one channel to the disk, and back. A task of the agent's."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio import CancelScope

from ... import stop_budgets
from ...agent_log import RateLimitedLog
from ...ledger import Drop
from .channel import SpillingChannel
from .files import SpillFile, append, lease, mark
from .folder import Disk
from .records import Head, write_head

T = TypeVar("T")
REST = 10.0
"""Seconds for which nothing is written, when the disk has failed."""
_READS = 6
"""A file that could not be read so often in a row is lost."""
_LOOK = 1.0
"""Seconds after which a full or slow state is looked at again."""
Call = Callable[[Callable[[], Any]], Awaitable[Any]]


class Mover:
    """Lives as long as the channel is read."""

    def __init__(
        self,
        channel: SpillingChannel,
        disk: Disk,
        codec: str,
        limited: RateLimitedLog,
        call: Call,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        :param codec: of the records
        :param call: calls a function that blocks
        :param now: seconds since 1970
        """
        self._channel = channel
        self._disk = disk
        self._codec = codec
        self._call = call
        self._limited = limited
        self._now = now
        self._rests_until = -math.inf
        self._reads_from = -math.inf
        self._failed_reads = 0
        self._is_over = False
        self._is_cut = False
        self._kept: list[str] = []  # done, and could not be removed
        self._has_read = False  # since the last write
        self._spare: SpillFile | None = None  # made, and nothing is in it yet

    async def run(self) -> None:
        """Move until it is cancelled. What is in memory then is written within `stop_budgets.SPILL_END`."""
        if self._is_cut:
            return
        scope = CancelScope(shield=True)
        self._is_over = False
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_end, scope)
            with scope:
                await self._live()
            group.cancel_scope.cancel()

    async def _watch_end(self, scope: CancelScope) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            self._is_over = True
            scope.deadline = anyio.current_time() + stop_budgets.SPILL_END
            self._channel.moves.ring()

    async def _live(self) -> None:
        channel = self._channel
        while not self._is_over:
            # asked before the step, or a record that comes in between would be missed
            channel.wants_moves = not self._rests
            if not await self._step():
                # a rest ends, or another process makes room
                with anyio.move_on_after(_LOOK if channel.backlog.count else math.inf):
                    await channel.moves.wait()
        while channel.backlog.staged and await self._write():
            pass
        await self._settle_all()

    @property
    def _rests(self) -> bool:
        return self._channel.clock() < self._rests_until

    async def _step(self) -> bool:
        """Do the next thing, if there is one."""
        channel, backlog = self._channel, self._channel.backlog
        if backlog.count:
            channel.drop_expired()
        if backlog.done:
            await self._remove_done()
            return True
        # in turns, or what comes meanwhile would find no room in memory
        if self._has_read and await self._write_if_due():
            self._has_read = False
            return True
        room = channel.room_for_return()
        if room is not None and backlog.files and channel.clock() >= self._reads_from:
            self._has_read = True
            await self._read(backlog.files[0], *room)
            return True
        return channel.bring_back_staged() or await self._write_if_due()

    async def _write_if_due(self) -> bool:
        return bool(self._channel.backlog.staged) and not self._rests and await self._write()

    async def _read(self, file: SpillFile, most: int, most_bytes: int) -> None:
        try:
            records, position = await self._do(partial(lease, self._disk, file, most, most_bytes))
        except OSError as error:
            self._failed_reads += 1
            if isinstance(error, FileNotFoundError) or self._failed_reads >= _READS:
                self._failed_reads = 0
                self._lose(file, error)
                return
            # no descriptor is free, perhaps: what is on disk stays there
            self._reads_from = self._channel.clock() + REST
            self._limited.warn("spill read", "file %s cannot be read for now: %s", file.name, error)
            return
        self._failed_reads = 0
        if records:
            self._channel.bring_back(file, records, position)
        else:
            self._lose(file, "its bytes have changed")

    def _lose(self, file: SpillFile, why: object) -> None:
        signal, count = self._channel.signal.value, self._channel.lose_first()
        text = "%s %ss are lost, as file %s cannot be read: %s"
        self._limited.warn("spill read", text, count, signal, file.name, why)

    async def _write(self) -> bool:
        """Write what is in memory. Whether there was room."""
        channel, signal = self._channel, self._channel.signal.value
        try:
            file = channel.backlog.open_file() or self._spare or await self._make_file()
            if file is None:
                self._rests_until = channel.clock() + _LOOK
                self._limited.warn("spill", "%ss: the room of SW_AGENT_SPILL on disk is used up", signal)
                return False
            self._spare = file if not file.count else None
            records = channel.next_staged(file)
            size = await self._do(partial(append, self._disk, file, records))
        except OSError as error:
            self._rests_until = channel.clock() + REST
            if isinstance(error, FileNotFoundError):
                self._spare = None
                channel.backlog.close_last()
            self._limited.warn("spill", "%ss cannot be spilled to disk for now: %s", signal, error)
            return False
        self._spare = None
        channel.note_written(file, records, size)
        self._limited.over("spill", "%ss are spilled to disk again", signal)
        return True

    async def _do(self, function: Callable[[], T]) -> T:
        """Call a function of the disk."""
        try:
            result: T = await self._call(function)
            return result
        except Exception:
            raise
        except BaseException:
            # cancelled; its thread may still be at it, and then no other call may come in between
            self._is_cut = True
            self._channel.stop_spilling(Drop.SHUTDOWN)
            raise

    async def _make_file(self) -> SpillFile | None:
        clock = self._channel.clock
        head = Head(self._channel.signal.value, self._codec, self._now() - clock())
        name = await self._do(partial(self._disk.create, write_head(head)))
        return None if name is None else SpillFile(name)

    async def _remove_done(self) -> None:
        backlog = self._channel.backlog
        names, backlog.done = backlog.done, []
        try:
            while names:
                await self._do(partial(self._disk.remove, names[0]))
                del names[0]
        except OSError as error:
            # tried again with the next one that is done; its records are leased, so no start sends them
            self._kept += names
            self._limited.warn("spill remove", "a file of spilled records cannot be removed: %s", error)
        else:
            # more may be done meanwhile
            backlog.done += self._kept
            self._kept = []
        self._rests_until = -math.inf

    def after_fork_in_child(self) -> None:
        """In a forked child: the files are the parent's, those too that its task would remove at its end."""
        self._is_cut = self._is_over = True
        self._spare = None
        self._kept = []

    async def _settle_all(self) -> None:
        """Let the files say that each record that was leased has its verdict: the ledger of this process has it."""
        if self._is_cut:
            return
        backlog = self._channel.backlog
        backlog.done += [each.name for each in backlog.read]
        if self._spare is not None:
            backlog.done.append(self._spare.name)
            self._spare = None
        backlog.read = []
        await self._remove_done()
        with suppress(OSError):
            for file in backlog.files:
                if file.leased:
                    await self._do(partial(mark, self._disk, file))
