"""A forward proxy on loopback: `python -m stress.lessons.forwarding PORT`. It is for plain HTTP, and changes nothing.

Prints `listening`, then for each line that it reads, and at the end of its input, how many connections it has carried.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import closing
from urllib.parse import urlsplit

_PIECE = 65536


class Forwarder:
    """Each connection is carried to the server that its first request names. Servers accept whole URLs in requests.

    :ivar carried: how many connections
    """

    def __init__(self) -> None:
        self.carried = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until both sides have ended."""
        with closing(writer):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                server = urlsplit(head.split(b" ", 2)[1].decode())
                inner_reader, inner_writer = await asyncio.open_connection(server.hostname, server.port or 80)
            except (asyncio.IncompleteReadError, OSError):
                return  # the client sees that its connection ends
            self.carried += 1
            with closing(inner_writer):
                inner_writer.write(head)
                await asyncio.gather(_carry(reader, inner_writer), _carry(inner_reader, writer))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def _run(port: int) -> None:
    forwarder = Forwarder()
    await asyncio.start_server(forwarder.serve, "127.0.0.1", port)
    print("listening", flush=True)
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(json.dumps(forwarder.carried), flush=True)
    print(json.dumps(forwarder.carried), flush=True)


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1])))
