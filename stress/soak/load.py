"""An open-loop load on one application: requests are due at fixed times, whatever becomes of those before."""

from __future__ import annotations

import asyncio
from array import array
from collections import Counter
from contextlib import suppress

from swagent.record.trace.carrier import Carrier, format_sw8

from .record_names import trace_id

CONNECTIONS = 8
_LONGEST_WAIT = 20.0


class Load:
    """Asks, and checks each answer. A latency counts from when the request was due, so a stall is seen in full.

    :ivar asked: how many requests were sent, numbered from 0
    :ivar due: when each answered request was due, in seconds of the loop's clock
    :ivar latencies: how many seconds after that its answer was there
    """

    def __init__(self, port: int, rate: float, connections: int = CONNECTIONS) -> None:
        """:param rate: requests per second"""
        self.asked = 0
        self.failures: Counter[str] = Counter()
        self.due = array("d")
        self.latencies = array("d")
        self._port = port
        self._rate = rate
        self._connections = connections
        self._stopping = asyncio.Event()
        self._started = 0.0

    @property
    def answered(self) -> int:
        return len(self.latencies)

    def stop(self) -> None:
        """No new requests from now on."""
        self._stopping.set()

    async def run(self) -> None:
        """Ask until stopped and all is answered."""
        self._started = asyncio.get_running_loop().time()
        await asyncio.gather(*(self._ask_on() for _ in range(self._connections)))

    async def _ask_on(self) -> None:
        """One connection at a time; after trouble a new one."""
        while not self._stopping.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            except OSError as error:
                self.failures[f"connecting: {error!r}"] += 1
                await asyncio.sleep(0.2)
                continue
            try:
                is_kept = True
                while is_kept and (number := await self._next()) is not None:
                    is_kept = await asyncio.wait_for(self._ask(number, reader, writer), _LONGEST_WAIT)
                    self._note(number)
            except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
                self.failures[repr(error)] += 1
            finally:
                writer.transport.abort()

    async def _next(self) -> int | None:
        """The number of the next request, when it is due; None: enough."""
        if self._stopping.is_set():
            return None
        number = self.asked
        self.asked += 1
        delay = self._started + number / self._rate - asyncio.get_running_loop().time()
        if delay > 0:
            await asyncio.sleep(delay)
        return number

    def _note(self, number: int) -> None:
        due = self._started + number / self._rate
        self.due.append(due)
        self.latencies.append(asyncio.get_running_loop().time() - due)

    async def _ask(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; returns whether the connection may be used again.

        :raises ValueError: for any answer but the right one
        """
        sw8 = format_sw8(Carrier(True, trace_id(number), f"from-{number}", 0, "load", "load@host", "/", "127.0.0.1"))
        writer.write(f"GET /work?{number} HTTP/1.1\r\nhost: soak\r\nsw8: {sw8}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise ValueError(f"answered {head[:40]!r}")
        wanted = str(number).encode()
        body = await reader.readexactly(len(wanted))
        if body != wanted:
            raise ValueError(f"asked {number}, answered {body!r}")
        # hypercorn lets a connection go after a thousand requests
        return b"connection: close" not in head.lower()


async def wait_served(port: int, seconds: float = 60.0) -> None:
    """Wait until something takes connections there.

    :raises TimeoutError: when nothing does in time
    """
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.transport.abort()
            return
        await asyncio.sleep(0.05)
    raise TimeoutError(f"nothing listens at port {port} after {seconds:g} s")
