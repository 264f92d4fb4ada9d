"""A server that speaks no newer TLS than 1.1: what it sends is made by hand, since many an OpenSSL has 1.1 no more.

It goes no further than its first answer. A client that wants a newer version refuses that by its number, before
anything else of the answer counts.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple

from .servers import TcpServer

_TLS_1_1 = b"\x03\x02"
_HANDSHAKE, _ALERT = 22, 21
# the server's choice: AES-128-CBC-SHA by RSA, which every version before 1.3 knows; no session, no compression
_SERVER_HELLO = _TLS_1_1 + bytes(range(32)) + b"\x00" + b"\x00\x2f" + b"\x00"
_ANSWER = b"\x02" + len(_SERVER_HELLO).to_bytes(3, "big") + _SERVER_HELLO


class Record(NamedTuple):
    """The bytes that TLS sends at once."""

    kind: int
    body: bytes


REFUSED = "UNSUPPORTED_PROTOCOL"


def reason_of(error: BaseException | None) -> str | None:
    """OpenSSL's reason against the connection, from whichever error was made of it."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return None if error is None else error.reason


class OldTls(TcpServer):
    """Answers each ClientHello with TLS 1.1, and keeps all records that it hears, one list a connection."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[list[Record]] = []

    @property
    def heard_only_hellos(self) -> bool:
        """Whether clients came, and said no more than their ClientHello, and no to the answer."""
        kinds = [[record.kind for record in each] for each in self.heard]
        return bool(kinds) and all(each in ([_HANDSHAKE], [_HANDSHAKE, _ALERT]) for each in kinds)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard: list[Record] = []
        self.heard.append(heard)
        try:
            heard.append(await _read(reader))
            writer.write(bytes([_HANDSHAKE]) + _TLS_1_1 + len(_ANSWER).to_bytes(2, "big") + _ANSWER)
            while True:
                heard.append(await _read(reader))
        except asyncio.IncompleteReadError:
            """The client has hung up."""


async def _read(reader: asyncio.StreamReader) -> Record:
    head = await reader.readexactly(5)
    return Record(head[0], await reader.readexactly(int.from_bytes(head[3:], "big")))
