"""A PostgreSQL server that is not there: the driver's bytes are looked at, and answered in the loop's next turn.

It understands what a driver says that connects without a password, prepares a statement, and asks it again and again.
Each statement has one row of one number.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any

_INT4 = 23
_HEAD = 5
_BYTE_OF_START_UP = b"\x00"
_GOODBYE = b"X"


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


_READY = _message(b"Z", b"I")
_ROW = struct.pack("!h", 1) + struct.pack("!i", 4) + struct.pack("!i", 1)
_COLUMN = b"number\x00" + struct.pack("!ihihih", 0, 0, _INT4, 4, -1, 0)
_SETTINGS = (b"client_encoding\x00UTF8\x00", b"server_version\x0016.0\x00", b"in_hot_standby\x00off\x00")
_START_UP = b"".join((
    _message(b"R", struct.pack("!i", 0)),
    *(_message(b"S", each) for each in _SETTINGS),
    _message(b"K", struct.pack("!ii", 1, 1)),
    _READY,
))  # fmt: skip
_ANSWERS = {
    b"P": _message(b"1"),
    b"D": _message(b"t", struct.pack("!h", 0)) + _message(b"T", struct.pack("!h", 1) + _COLUMN),
    b"B": _message(b"2"),
    b"E": _message(b"D", _ROW) + _message(b"C", b"SELECT 1\x00"),
    b"S": _READY,
    b"Q": _message(b"C", b"SELECT 1\x00") + _READY,
}
"""By the kind of what the driver says: to parse, to describe, to bind, to execute, to be in step, and a text."""


class PostgresLine(asyncio.Transport):
    """The driver's end of its connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: Any) -> None:
        super().__init__({"peername": ("127.0.0.1", 5432), "sockname": ("127.0.0.1", 40_000)})
        self._loop = loop
        self._protocol = protocol
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Some messages, whole ones."""
        if data[:1] == _GOODBYE:
            self.abort()
        else:
            self._loop.call_soon(self._protocol.data_received, answer(bytes(data)))

    def writelines(self, list_of_data: Any) -> None:
        """The same."""
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        """Whether the driver has closed it."""
        return self._is_closing

    def close(self) -> None:
        """The driver says that it goes."""
        self.abort()

    def abort(self) -> None:
        """It goes."""
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._protocol.connection_lost, None)


class LoopToPostgres:
    """An event loop whose connections lead here."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def create_connection(self, make: Callable[[], Any], *_: object, **__: object) -> tuple[PostgresLine, Any]:
        """As the loop's, wherever it was to lead."""
        protocol = make()
        line = PostgresLine(self._loop, protocol)
        protocol.connection_made(line)
        return line, protocol


def answer(said: bytes) -> bytes:
    """The answer to some messages of a driver."""
    if said[:1] == _BYTE_OF_START_UP:
        return _START_UP
    answers: list[bytes] = []
    while said:
        answers.append(_ANSWERS.get(said[:1], b""))
        (length,) = struct.unpack_from("!i", said, 1)
        said = said[length + 1 :]
    return b"".join(answers)
