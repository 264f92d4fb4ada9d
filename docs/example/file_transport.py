"""A complete transport that is not swagent's own: it appends what is recorded to a file, one JSON object a line.

A log shipper can take the file from there. The page docs/transports.md explains this module.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import anyio

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.backend import loop_notifier
from swagent.config import Config
from swagent.errors import AmbiguousError, ConfigError, DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal

VARIABLE = "TELEMETRY_FILE"
# Seconds for which the agent leaves a path alone that names no file: it has to be corrected first.
_PAUSE = 60.0


class FileTransport:
    """Appends to one file. A batch is one write, so it has one verdict."""

    name: ClassVar[str] = "file"
    codec: ClassVar[Codec] = "json"
    signals: ClassVar[frozenset[Signal]] = frozenset(Signal)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio", "trio"})

    @classmethod
    def addresses(cls, config: Config) -> Sequence[Address]:  # noqa: ARG003, RUF100
        """One address, whatever the collector's are: a file has no host, and its bytes stay on this machine."""
        return [Address("localhost", 0, tls=False)]

    def __init__(self, config: Config, address: Address) -> None:  # noqa: ARG002, RUF100
        """:raises ConfigError: when nothing names the file"""
        path = os.environ.get(VARIABLE, "")
        if not path:
            raise ConfigError(VARIABLE, path, "the path of a file")
        self._path = Path(path)
        self._timeout = config.request_timeout
        self._turn = anyio.Lock()
        self._calls: set[anyio.CancelScope] = set()
        self._last: _Write | None = None
        self._is_torn = False
        self._is_closed = False

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Append a batch, one line a record."""
        await self._append(b"".join(b'{"%b": %b}\n' % (signal.value.encode(), record) for record in records))

    async def report_properties(self, instance: Instance) -> None:
        """Report the instance. The heartbeat calls this before any record flows, so it also tries to write."""
        said = {"service": instance.service, "instance": instance.name, "properties": dict(instance.properties)}
        await self._append(json.dumps({"properties": said}).encode() + b"\n")

    async def keep_alive(self, instance: Instance) -> None:
        """Say that the instance lives."""
        said = {"service": instance.service, "instance": instance.name}
        await self._append(json.dumps({"alive": said}).encode() + b"\n")

    async def aclose(self) -> None:
        """End the calls that are under way. Between two calls nothing is open."""
        self._is_closed = True
        for scope in tuple(self._calls):
            scope.cancel()
        await anyio.lowlevel.checkpoint()

    async def _append(self, lines: bytes) -> None:
        if self._is_closed:
            raise RetryableError("the transport is closed")
        write = _Write(self._path, lines)
        with anyio.move_on_after(self._timeout) as scope:
            self._calls.add(scope)
            try:
                async with self._turn:
                    await self._run(write)
            finally:
                self._calls.discard(scope)
                write.abandon()
        verdict = write.verdict
        if verdict is not None:
            raise verdict

    async def _run(self, write: _Write) -> None:
        """Wait for a write, once the one before it has ended. So a disk that hangs holds one thread, not many."""
        last = self._last
        if last is not None:
            await last.ended.wait()
            if last.verdict is None or isinstance(last.verdict, AmbiguousError):
                self._is_torn = last.verdict is not None
        self._last = write
        # a line that may be cut short is ended before the next one begins
        write.start(b"\n" if self._is_torn else b"")
        await write.ended.wait()

    def __str__(self) -> str:
        return f"file:{self._path}"


class _Write:
    """One batch on its way into the file, and how far it came.

    It runs in a thread, since a disk may block, and in one that the agent can leave behind, since a disk may hang.

    :ivar ended: set in the event loop when the thread has ended
    :ivar verdict: None: everything was written
    """

    def __init__(self, path: Path, content: bytes) -> None:
        self._path = path
        self._content = content
        self._notify = loop_notifier()
        self._lock = threading.Lock()
        self._is_abandoned = False
        self.ended = anyio.Event()
        self.verdict: DeliveryError | None = RetryableError("the write did not begin in time")

    def start(self, before: bytes) -> None:
        """
        :param before: written before the batch
        :raises RetryableError: when there is no thread to spare
        """
        self._content = before + self._content
        try:
            threading.Thread(target=self._run, name="file-transport", daemon=True).start()
        except RuntimeError as error:
            self.ended.set()
            raise RetryableError(str(error)) from error

    def abandon(self) -> None:
        """From here on nothing is written that the verdict calls unsent."""
        with self._lock:
            self._is_abandoned = True

    def _run(self) -> None:
        try:
            self._write()
        finally:
            self._notify(self.ended.set)

    def _write(self) -> None:
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            is_no_file = isinstance(error, (IsADirectoryError, NotADirectoryError))
            self.verdict = RejectedError(str(error), pause=_PAUSE) if is_no_file else RetryableError(str(error))
            return
        try:
            self._append_to(file)
        except OSError as error:
            self.verdict = AmbiguousError(str(error))

    def _append_to(self, file: int) -> None:
        try:
            with self._lock:
                if self._is_abandoned:
                    return
                self.verdict = AmbiguousError("the write did not end in time")
            missing = len(self._content) - os.write(file, self._content)
        finally:
            os.close(file)
        self.verdict = AmbiguousError(f"{missing} bytes could not be written") if missing else None
