"""The spill of one agent: what dead processes have left is taken over, and each channel's records move."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import CapacityLimiter

from ... import stop_budgets
from ...agent_log import RateLimitedLog, say
from ...backend import loop_notifier
from ...config.spilling import parse_spill
from ...errors import ConfigError
from ...ledger import Drop
from ...signals import Bounds, Signal
from ...system_thread import SystemThread
from .channel import SpillingChannel
from .files import Found, examine
from .folder import Disk, Folder
from .mover import Call, Mover
from .records import read_head


def open_disk(setting: str) -> Folder | None:
    """The folder of this process; None where the system has no locks for it, which is logged.

    :param setting: of `SW_AGENT_SPILL`
    :raises ConfigError: when the folder cannot be made
    """
    path, limit = parse_spill(setting)
    try:
        return Folder(Path(path), limit)
    except ImportError:
        say(logging.WARNING, "nothing is spilled to disk: this system has no flock, which SW_AGENT_SPILL needs")
        return None
    except OSError as error:
        allowed = f"a folder that this process can write to, on a file system with locks ({error})"
        raise ConfigError("spill", setting, allowed) from error


class Spill:
    """Lives as long as the agent does. Its channels are made before it runs."""

    def __init__(
        self,
        disk: Disk,
        codec: str,
        limited: RateLimitedLog,
        call: Call | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        :param codec: of the records
        :param call: calls a function that blocks, one at a time; in a thread where it is left out
        :param now: seconds since 1970
        """
        self._disk = disk
        self._codec = codec
        self._limited = limited
        self._call = call or _in_thread()
        self._now = now
        self._movers: dict[str, Mover] = {}
        self._channels: dict[str, SpillingChannel] = {}
        self._found: list[str] | None = None
        self._is_closed = False

    def make_channel(self, signal: Signal, bounds: Bounds, clock: Callable[[], float]) -> SpillingChannel:
        """A channel whose records move."""
        name, channel = signal.value, SpillingChannel(signal, bounds, clock)
        self._channels[name] = channel
        self._movers[name] = Mover(channel, self._disk, self._codec, self._limited, self._call, self._now)
        return channel

    async def run(self) -> None:
        """Move records until it is cancelled, and take over what dead processes have left."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._take_over)
            for mover in self._movers.values():
                group.start_soon(mover.run)

    async def _take_over(self) -> None:
        if self._found is None:
            note = partial(self._limited.warn, "spill read", "a folder of spilled records cannot be taken over: %s")
            self._found = await self._call(partial(self._disk.take_over, self._is_usable, note))
        counts = [0, 0, 0]
        while self._found:
            try:
                found = await self._call(partial(examine, self._disk, self._found[0]))
                if found is None:
                    await self._call(partial(self._disk.remove, self._found[0]))
            except OSError as error:
                self._limited.warn("spill read", "a file of spilled records cannot be read: %s", error)
            else:
                if found is not None:
                    counts = [*map(sum, zip(counts, self._take_in(found), strict=True))]
            del self._found[0]
        if any(counts):
            say(logging.INFO, "took over %d records from disk, %d of unknown fate, and %d bytes of torn ones", *counts)

    def _take_in(self, found: Found) -> Sequence[int]:
        channel = self._channels[found.head.signal]
        shift = found.head.epoch - (self._now() - channel.clock())
        lost = channel.take_in(found, shift)
        return found.file.count - found.file.leased, lost, found.torn

    def _is_usable(self, data: bytes) -> bool:
        head = read_head(data)
        # what has no whole head has no record either, and is taken to be removed
        return head is None or (head.codec == self._codec and head.signal in self._channels)

    def give_up(self) -> None:
        """Its task has crashed again and again: spill nothing more."""
        for channel in self._channels.values():
            channel.stop_spilling(Drop.INTERNAL)

    def close(self) -> None:
        """The agent has stopped: count what did not get to the disk, and let another process have the rest."""
        for channel in self._channels.values():
            channel.stop_spilling(Drop.SHUTDOWN)
        if not self._is_closed:
            self._is_closed = True
            # a disk may hang, and this is the application's thread; the lock ends with the process at the latest
            closing = SystemThread(self._close_disk, "swagent spill")
            with suppress(RuntimeError):  # the interpreter ends
                closing.start()
                closing.join(stop_budgets.SPILL_END)

    def _close_disk(self) -> None:
        with suppress(OSError):
            self._disk.close()

    def after_fork_in_child(self) -> None:
        """In a forked child: the files are the parent's."""
        if not self._is_closed:
            self._is_closed = True
            for mover in self._movers.values():
                mover.after_fork_in_child()
            with suppress(OSError):
                self._disk.after_fork_in_child()


def _in_thread() -> Call:
    # anyio's threads are greenlets under gevent, where they never run; and on asyncio they hold the interpreter
    limiter = CapacityLimiter(1)

    async def call(function: Callable[[], Any]) -> Any:
        ended, notify, context = anyio.Event(), loop_notifier(), copy_context()
        outcome: list[Any] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                outcome.append(context.run(function))
            except BaseException as error:  # noqa: BLE001, RUF100  (for the caller)
                errors.append(error)
            notify(ended.set)

        async with limiter:
            SystemThread(work, "swagent spill").start()
            await ended.wait()
        if errors:
            raise errors.pop()
        return outcome[0]

    return call
