"""A server that speaks as much of Neo4j's protocol, Bolt 4.4, as a driver needs, in a thread of this process."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_GOODBYE, _RUN, _BEGIN, _PULL = 0x02, 0x10, 0x11, 0x3F
_SUCCESS, _RECORD, _FAILURE, _IGNORED = 0x70, 0x71, 0x7F, 0x7E
_HELLO = {"server": "Neo4j/4.4.0", "connection_id": "bolt-1"}
_SYNTAX = {"code": "Neo.ClientError.Statement.SyntaxError", "message": "a wrong word"}


class BoltPeer(socketserver.ThreadingTCPServer):
    """Answers each query with one record, and one that has WRONG in it with an error."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        self.queries: list[str] = []
        super().__init__(("127.0.0.1", 0), _Connection)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.StreamRequestHandler):
    server: BoltPeer

    def handle(self) -> None:
        self._has_failed = False
        with suppress(ConnectionError):
            self.rfile.read(20)  # a magic number, and the versions that the driver knows
            self.wfile.write(b"\0\0\4\4")
            while message := self._read():
                kind = message[1]
                if kind == _GOODBYE:
                    return
                for answer, said in self._answers(kind, message):
                    self._send(answer, said)

    def _answers(self, kind: int, message: bytes) -> Iterator[tuple[int, Any]]:
        if kind == 0x0F:  # RESET
            self._has_failed = False
        if self._has_failed:
            yield _IGNORED, None
            return
        if kind == _PULL:
            yield _RECORD, [1]
            yield _SUCCESS, {"type": "r", "db": "neo4j"}
            return
        query = _text(message, 2) if kind == _RUN else ""
        if query:
            self.server.queries.append(query)
        self._has_failed = "WRONG" in query
        if self._has_failed:
            yield _FAILURE, _SYNTAX
        else:
            yield _SUCCESS, {"fields": ["n"], **(_HELLO if kind == 0x01 else {})}

    def _read(self) -> bytes:
        parts = []
        while header := self.rfile.read(2):
            (size,) = struct.unpack(">H", header)
            if size:
                parts.append(self.rfile.read(size))
            elif parts:
                break
        return b"".join(parts)

    def _send(self, kind: int, said: Any) -> None:
        fields = b"" if said is None else _packed(said)
        message = bytes([0xB0 if said is None else 0xB1, kind]) + fields
        self.wfile.write(struct.pack(">H", len(message)) + message + b"\0\0")


def _packed(value: Any) -> bytes:
    """A value in PackStream, where few kinds of values are enough."""
    if isinstance(value, str):
        text = value.encode()
        return b"\xd0" + bytes([len(text)]) + text
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(_packed, value))
    if isinstance(value, dict):
        return bytes([0xA0 + len(value)]) + b"".join(_packed(key) + _packed(each) for key, each in value.items())
    return struct.pack(">b", value)


def _text(message: bytes, start: int) -> str:
    marker = message[start]
    if marker < 0x90:
        return message[start + 1 : start + 1 + marker - 0x80].decode()
    return message[start + 2 : start + 2 + message[start + 1]].decode()


@contextmanager
def bolt_peer() -> Iterator[BoltPeer]:
    """One that answers."""
    with BoltPeer() as peer:
        thread = threading.Thread(target=peer.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield peer
        finally:
            peer.shutdown()
            thread.join()
