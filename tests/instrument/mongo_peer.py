"""A server that speaks as much of MongoDB's protocol as a driver needs, in a thread of this process."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import bson

_OP_REPLY, _OP_QUERY, _OP_MSG = 1, 2004, 2013
_MORE_TO_COME = 2
_HELLO = {
    "ismaster": True,
    "isWritablePrimary": True,
    "helloOk": True,
    "maxBsonObjectSize": 1 << 24,
    "maxMessageSizeBytes": 48_000_000,
    "maxWriteBatchSize": 1000,
    "minWireVersion": 0,
    "maxWireVersion": 21,
    "logicalSessionTimeoutMinutes": 30,
    "ok": 1.0,
}


class MongoPeer(socketserver.ThreadingTCPServer):
    """Knows a few commands. A query of `{"silent": 1}` is never answered; at one of `{"gone": 1}` it hangs up."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        self.asked = threading.Event()
        """A query has arrived that will not be answered."""
        self.commands: list[str] = []
        super().__init__(("127.0.0.1", 0), _Connection)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def answer(self, command: dict[str, Any]) -> dict[str, Any] | None:
        """None: no answer."""
        name = next(iter(command))
        self.commands.append(name)
        if name.lower() in ("hello", "ismaster"):
            return _HELLO
        if command.get("filter") == {"silent": 1}:
            self.asked.set()
            return None
        if command.get("filter") == {"gone": 1}:
            raise ConnectionError("the peer hangs up")
        if name == "find":
            more = 7 if command.get("batchSize") == 1 else 0
            return {"cursor": {"id": more, "ns": "shop.orders", "firstBatch": [{"_id": 1}]}, "ok": 1.0}
        if name == "getMore":
            return {"cursor": {"id": 0, "ns": "shop.orders", "nextBatch": [{"_id": 2}]}, "ok": 1.0}
        if name == "insert" and command["insert"] == "taken":
            return {"n": 0, "writeErrors": [{"index": 0, "code": 11000, "errmsg": "duplicate"}], "ok": 1.0}
        if name in ("insert", "update", "delete", "ping", "endSessions"):
            return {"n": 1, "nModified": 1, "ok": 1.0}
        return {"ok": 0.0, "errmsg": f"no such command: {name}", "code": 59, "codeName": "CommandNotFound"}


class _Connection(socketserver.StreamRequestHandler):
    server: MongoPeer

    def handle(self) -> None:
        with suppress(ConnectionError):
            while header := self.rfile.read(16):
                length, request, _, operation = struct.unpack("<4i", header)
                body = self.rfile.read(length - 16)
                self._answer(request, operation, body)

    def _answer(self, request: int, operation: int, body: bytes) -> None:
        if operation == _OP_QUERY:
            start = body.index(b"\0", 4) + 9  # flags, a collection's name, two numbers
            said = bson.encode(self.server.answer(bson.decode(body[start:])) or {})
            self._send(request, _OP_REPLY, struct.pack("<iqii", 8, 0, 0, 1) + said)
            return
        (flags,) = struct.unpack_from("<I", body)
        (size,) = struct.unpack_from("<i", body, 5)
        answer = self.server.answer(bson.decode(body[5 : 5 + size]))
        if answer is not None and not flags & _MORE_TO_COME:
            self._send(request, _OP_MSG, b"\0\0\0\0\0" + bson.encode(answer))

    def _send(self, request: int, operation: int, body: bytes) -> None:
        self.wfile.write(struct.pack("<4i", 16 + len(body), 0, request, operation) + body)


@contextmanager
def mongo_peer() -> Iterator[MongoPeer]:
    """One that answers."""
    with MongoPeer() as peer:
        thread = threading.Thread(target=peer.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield peer
        finally:
            peer.shutdown()
            thread.join()
