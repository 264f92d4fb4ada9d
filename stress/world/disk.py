"""The disk of the world: all lives of the application have it in common. It is full, broken, slow or hanging for a
while, and what was being written when a process dies is there in part.

It stands in the place of `Folder`, and of the threads that wait for it: such a thread is a call at a time of the
virtual clock, which comes also when the agent has given up waiting.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from unittest.mock import patch

import anyio

from swagent.pipeline.spill.records import HEAD_BYTES
from swagent.pipeline.spill.spill import Spill

from .clock import Clock, WallClock
from .history import History
from .plan import Disk as DiskPlan

QUICK = 0.002
"""Seconds that a call takes at most, when all is well."""
_TORN = 400
"""Bytes that are written at most, of a call amid which the process dies."""


class KilledError(Exception):
    """The process ends amid a call. No code of the agent's runs behind it."""


@dataclass
class File:
    """What the system has of a file, and what the disk has."""

    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""


@dataclass
class Place:
    """The folder of one life.

    :ivar number: of its life
    :ivar is_locked: its process lives
    """

    number: int
    files: dict[str, File] = field(default_factory=dict[str, File])
    is_locked: bool = True


class Device:
    """What all lives have in common.

    :ivar places: the folders, oldest first
    :ivar space: bytes that files can still grow by; None: as many as they want
    :ivar errors: the share of calls that fail
    :ivar wait: seconds that a call takes at most
    :ivar is_hanging: no call comes back
    """

    def __init__(self, plan: DiskPlan, clock: Clock, random: Random, history: History) -> None:
        self.plan = plan
        self.clock = clock
        self.random = random
        self.history = history
        self.places: list[Place] = []
        self.space: int | None = None
        self.errors = 0.0
        self.wait = QUICK
        self.is_hanging = False
        self._waiting: list[Callable[[], object]] = []
        self._lives: list[WorldDisk] = []
        self._lives_begun = 0
        self.calls: list[DiskThread] = []
        self._called = anyio.Event()
        self._was_read = anyio.Event()

    async def wait_busy(self, *, reads: bool) -> None:
        """Wait until a call is under way.

        :param reads: until one has read a file
        """
        if reads:
            await self._was_read.wait()
        elif not self.calls:
            await self._called.wait()

    def note_read(self) -> None:
        """A file is read."""
        read, self._was_read = self._was_read, anyio.Event()
        read.set()

    def resume(self) -> None:
        """It hangs no more."""
        self.is_hanging = False
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            self.clock.call_at(self.clock.now(), each)

    def next_life(self) -> int:
        """The number of one more life."""
        self._lives_begun += 1
        return self._lives_begun

    def begin(self) -> WorldDisk:
        """A life of the agent has its disk."""
        self._lives.append(WorldDisk(self))
        return self._lives[-1]

    @property
    def is_dead(self) -> bool:
        """Whether no agent has come since the process died."""
        return not self._lives

    def content_of(self, name: str) -> bytes:
        """What stands in a file of the agent that lives now."""
        return bytes(self._lives[-1].files[name].data)

    def submit(self, thread: DiskThread) -> None:
        """Let a thread do its work after a while; in a process that has died, never."""
        if self.is_dead:
            return
        self.calls.append(thread)
        called, self._called = self._called, anyio.Event()
        called.set()
        self.clock.call_at(self.clock.now() + self.wait * self.random.random(), partial(self._run, thread))

    def _run(self, thread: DiskThread) -> None:
        if self.is_hanging:
            self._waiting.append(partial(self._run, thread))
        else:
            thread.run()

    def kill(self, *, has_power: bool) -> None:
        """The process dies: amid the call that is under way, if there is one.

        :param has_power: what the system has of its files stays; or else only what the disk has, and some of the rest
        """
        lives, self._lives = self._lives, []
        calls, self.calls = self.calls, []
        for life in lives:
            life.left = int(_TORN * self.random.random() ** 2)
        for call in calls:
            call.run()
        for life in lives:
            life.left = 0
        self.history.note("the process has died" + ("" if has_power else ", and the power is gone"))
        for place in self.places:
            if not has_power:
                self._lose_power(place)
            place.is_locked = False

    def _lose_power(self, place: Place) -> None:
        random = self.random
        for name, file in [*place.files.items()]:
            data, synced = bytes(file.data), file.synced
            how = "whole" if data == synced else random.choice(["whole", "synced", "cut", "zeros"])
            if how == "synced":
                data = synced
            elif how != "whole":
                end = random.randint(min(len(synced), len(data)), len(data))
                # marks that were written over may have reached the disk, or not
                head = random.choice([data, synced or data])[:HEAD_BYTES]
                data = head + data[HEAD_BYTES:end] + bytes(len(data) - end if how == "zeros" else 0)
            file.data, file.synced = bytearray(data), data
            if not data:
                del place.files[name]

    @contextmanager
    def in_force(self, wall: WallClock) -> Iterator[None]:
        """Let agents spill to it."""
        spill = "swagent.pipeline.spill.spill"
        with (
            patch(f"{spill}.open_disk", lambda _: self.begin()),
            patch(f"{spill}.SystemThread", partial(DiskThread, self)),
            patch(f"{spill}.Spill", partial(Spill, now=wall.time)),
            patch("swagent.pipeline.spill.files.FILE_BYTES", self.plan.file_bytes),
        ):
            yield


class DiskThread:
    """As `SystemThread`."""

    def __init__(self, device: Device, target: Callable[[], object], _: str) -> None:
        self._device = device
        self._target = target
        self._is_over = False

    def start(self) -> None:
        """As there."""
        self._device.submit(self)

    def join(self, timeout: float) -> None:
        """As there: the loop is held meanwhile."""
        if not self._is_over and not self._device.is_dead:
            waits = timeout if self._device.is_hanging else min(timeout, self._device.wait)
            self._device.clock.hold(waits)
            if waits < timeout:
                self.run()

    def run(self) -> None:
        """Do the work now, unless it was done."""
        if not self._is_over:
            self._is_over = True
            if self in self._device.calls:
                self._device.calls.remove(self)
            self._target()


class WorldDisk:
    """The folder of one life. As `Folder`.

    :ivar left: so many bytes more are written before the process dies; None: it lives
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._place = Place(device.next_life())
        self._made = 0
        self.files = self._place.files
        self.left: int | None = None
        device.places.append(self._place)

    def create(self, head: bytes) -> str | None:
        """As `Folder.create`."""
        self._step()
        if sum(len(place.files) for place in self._device.places) >= self._device.plan.files:
            return None
        name = self._next_name()
        file = self.files[name] = File()
        try:
            self._write(file, 0, head)
        except OSError:
            del self.files[name]
            raise
        return name

    def write(self, name: str, at: int, data: bytes, *, sync: bool = False) -> None:
        """As `Folder.write`."""
        self._step()
        file = self._file(name)
        self._write(file, at, data)
        if sync:
            file.synced = bytes(file.data)

    def read(self, name: str, at: int, size: int) -> bytes:
        """As `Folder.read`."""
        self._step()
        self._device.note_read()
        return bytes(self._file(name).data[at : at + size])

    def truncate(self, name: str, size: int) -> None:
        """As `Folder.truncate`."""
        self._step()
        del self._file(name).data[size:]

    def remove(self, name: str) -> None:
        """As `Folder.remove`."""
        self._step()
        self.files.pop(name, None)

    def take_over(self, is_usable: Callable[[bytes], bool], note: Callable[[OSError], object]) -> list[str]:
        """As `Folder.take_over`."""
        names: list[str] = []
        for place in [each for each in self._device.places if not each.is_locked]:
            try:
                for former, file in sorted(place.files.items()):
                    self._step()
                    if is_usable(bytes(file.data[:HEAD_BYTES])):
                        names.append(former)
                        self.files[former] = place.files.pop(former)
                if not place.files:
                    self._device.places.remove(place)
            except OSError as error:
                note(error)
        return sorted(names)

    def close(self) -> None:
        """As `Folder.close`."""
        if self.left is not None:
            return
        self._place.is_locked = False
        if not self.files:
            self._device.places.remove(self._place)

    def after_fork_in_child(self) -> None:
        """The world does not fork."""

    def _next_name(self) -> str:
        self._made += 1
        return f"{self._place.number:08}-{self._made:08}"

    def _file(self, name: str) -> File:
        file = self.files.get(name)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return file

    def _step(self) -> None:
        if self.left is not None and self.left <= 0:
            raise KilledError
        device = self._device
        if device.errors and device.random.random() < device.errors:
            raise OSError(errno.EIO, "Input/output error")

    def _write(self, file: File, at: int, data: bytes) -> None:
        device, room = self._device, len(data)
        if self.left is not None:
            room = min(room, self.left)
            self.left -= room
        grows = max(0, at + room - len(file.data))
        is_full = device.space is not None and grows > device.space
        if is_full and device.space is not None:
            room, grows = room - grows + device.space, device.space
        if device.space is not None:
            device.space -= grows
        file.data[at : at + room] = data[:room]
        if self.left is not None and room < len(data):
            raise KilledError
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._look_at_bounds(file)

    def _look_at_bounds(self, file: File) -> None:
        device, most = self._device, self._device.plan.file_bytes
        if len(file.data) > most:
            device.history.violate(f"a file of {len(file.data)} bytes, and {most} are allowed")
        size = sum(len(each.data) for place in device.places for each in place.files.values())
        if size > most * device.plan.files:
            device.history.violate(f"{size} bytes are on disk, and {most * device.plan.files} are allowed")
