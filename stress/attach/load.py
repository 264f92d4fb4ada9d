"""Requests at a steady rate to an application that serves, each with the trace of a caller."""

from __future__ import annotations

import asyncio

from stress.soak.load import Load
from swagent.record.trace.carrier import Carrier, format_sw8

CONNECTIONS = 32
TRACE = "attached-"
"""What the traces of the callers begin with."""


class ItemLoad(Load):
    """The load of a soak, on the path of an application that is attached to."""

    async def _ask(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        caller = Carrier(True, f"{TRACE}{number}", f"caller-{number}", 0, "caller", "caller-1", "/start", "caller:80")
        writer.write(f"GET /items/{number} HTTP/1.1\r\nhost: shop\r\nsw8: {format_sw8(caller)}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
        if not head.startswith(b"http/1.1 200 "):
            raise ValueError(f"answered {head[:40]!r}")
        return b"\r\nconnection: close" not in head
