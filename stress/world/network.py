"""The network between the agent and its collectors: connections of bytes, with everything that delays or ends them.

A connection has two pipes. Bytes that are written into a pipe are with the system: they arrive after a delay, in order,
and a pipe takes no more than its buffers hold. What is in there when the writer closes still arrives, as on a real
machine. So only bytes that a pipe has never taken are certain not to have left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import anyio
import anyio.lowlevel

from .clock import Clock
from .history import History

_LATENCY = 0.0005
_RESEND = 0.2
_REPEAT_SYN = 1.0


@dataclass
class Weather:
    """The state of the way to one host.

    :ivar latency: seconds one way, beyond the usual
    :ivar loss: the share of pieces that have to be sent again
    :ivar rate: bytes a second; 0: without limit
    :ivar is_cut: nothing arrives, in either direction
    :ivar is_deaf: connections cannot be made, those that are there are well
    """

    latency: float = 0.0
    loss: float = 0.0
    rate: float = 0.0
    is_cut: bool = False
    is_deaf: bool = False


class Server(Protocol):
    """The process behind an address."""

    is_listening: bool
    weather: Weather

    def accept(self, link: Link) -> None:
        """A connection was made."""
        ...


class Pipe:
    """One direction of a connection.

    :ivar arrived: bytes that can be read
    :ivar has_ended: the writer's end has arrived
    :ivar on_readable: called when bytes, or the end, have arrived
    :ivar on_room: called when there is room again
    """

    def __init__(self, network: Network, weather: Weather, room: int) -> None:
        self._network = network
        self._weather = weather
        self._room = room
        self._flight: deque[bytes] = deque()
        self._flying = 0
        self._last = 0.0
        self._held = 0
        self.arrived = bytearray()
        self.is_closed = False
        self.has_ended = False
        self.is_dead = False
        self.on_readable: Callable[[], object] = _nothing
        self.on_room: Callable[[], object] = _nothing

    @property
    def room(self) -> int:
        """How many bytes it takes now."""
        return max(0, self._room - self._flying - len(self.arrived))

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Take bytes, as many as there is room for; returns how many."""
        piece = bytes(data[: self.room])
        if piece and not self.is_closed:
            self._send(piece)
        return len(piece)

    def close(self) -> None:
        """Write no more: the end arrives behind what was written."""
        if not self.is_closed:
            self.is_closed = True
            self._send(b"")

    def read(self, most: int) -> bytes:
        """Take what has arrived."""
        data = bytes(self.arrived[:most])
        del self.arrived[: len(data)]
        if data:
            self.on_room()
        return data

    def let_go(self) -> None:
        """The way is open again: what was held arrives."""
        held, self._held = self._held, 0
        for _ in range(held):
            self._last = max(self._last, self._network.clock.now() + self._network.delay(self._weather, 0))
            self._network.clock.call_at(self._last, self._arrive)

    def kill(self) -> None:
        """Nothing arrives any more, and no side learns of it."""
        self.is_dead = True

    def _send(self, piece: bytes) -> None:
        self._flight.append(piece)
        self._flying += len(piece)
        self._last = max(self._last, self._network.clock.now()) + self._network.delay(self._weather, len(piece))
        self._network.clock.call_at(self._last, self._arrive)

    def _arrive(self) -> None:
        if self.is_dead or not self._flight:
            return
        if self._weather.is_cut:
            self._held += 1
            return
        piece = self._flight.popleft()
        self._flying -= len(piece)
        self.arrived += piece
        self.has_ended = self.has_ended or not piece
        self.on_readable()


class Link:
    """A connection.

    :ivar out: what the agent writes
    :ivar back: what the server writes
    :ivar is_reset: the agent's side has learnt that the server has reset it
    :ivar on_reset: called then
    """

    def __init__(self, network: Network, number: int, server: Server, room: int) -> None:
        self.number = number
        self.server = server
        self.out = Pipe(network, server.weather, room)
        self.back = Pipe(network, server.weather, 1 << 30)
        self._network = network
        self.is_reset = False
        self.is_closed = False
        self.on_reset: Callable[[], object] = _nothing
        self.on_gone: Callable[[], object] = _nothing

    def reset(self) -> None:
        """The server, or what is between, ends it now. What has not arrived never will."""
        self.out.kill()
        self.on_gone()
        delay = self._network.delay(self.server.weather, 0)
        self._network.clock.call_at(self._network.clock.now() + delay, self._learn)

    def close(self) -> None:
        """The agent's side is closed. What it has written still arrives."""
        if not self.is_closed:
            self.is_closed = True
            self.out.close()
            self._network.links.pop(self.number, None)
            self._network.closed[self.number] = self

    def fall_silent(self) -> None:
        """Half open: nothing arrives any more, and no side learns of it."""
        self.out.kill()
        self.back.kill()

    def _learn(self) -> None:
        if self.server.weather.is_cut or self.back.is_dead or self.is_closed:
            return
        self.is_reset = True
        self.on_reset()


class Network:
    """All hosts, their names, and the connections of the agent.

    :ivar links: those that the agent has open, by their numbers
    :ivar bytes_out: how many bytes the agent has written
    :ivar attempts: how often it dialled
    :ivar is_dead: the application has died: nothing more leaves, until it starts again
    """

    def __init__(self, clock: Clock, random: Random, history: History) -> None:
        self.clock = clock
        self._random = random
        self._history = history
        self.hosts: dict[str, Server] = {}
        self.names: dict[str, list[str]] = {}
        self.lookup = "well"
        self.room = 64 * 1024
        self.links: dict[int, Link] = {}
        self.closed: dict[int, Link] = {}
        self._count = 0
        self.attempts: list[float] = []
        self.is_dead = False

    def die(self) -> None:
        """The application has died. Its system closes its connections: what was written still arrives."""
        self.is_dead = True
        for link in [*self.links.values()]:
            link.close()
            link.is_reset = True
            link.on_reset()

    def delay(self, weather: Weather, size: int) -> float:
        """Seconds that a piece of so many bytes takes now."""
        random = self._random
        seconds = _LATENCY * (1 + random.random()) + weather.latency * (0.5 + random.random())
        if weather.rate:
            seconds += size / weather.rate
        resend = _RESEND
        while weather.loss and random.random() < weather.loss:
            seconds += resend
            resend = min(2 * resend, 10.0)
        return seconds

    async def resolve(self, host: str) -> list[str]:
        """The addresses of a name.

        :raises OSError: when there are none
        """
        await self._check_alive()
        how = self.lookup
        self._history.note(f"look up {host}: {how}")
        if how == "silent":
            await anyio.sleep(20 + 20 * self._random.random())
            how = "unknown"
        await anyio.sleep(5 * self._random.random() if how == "slow" else 0.001)
        if how == "unknown":
            raise OSError(-2, "Name or service not known")
        addresses = self.names.get(host, [])
        # an address of no host: SYN packets get no answer
        return ["10.9.9.9", *addresses] if how == "stale" else list(addresses)

    async def connect(self, address: str) -> Link:
        """Connect to an address. It may take for ever.

        :raises ConnectionRefusedError: nothing listens
        """
        await self._check_alive()
        self.attempts.append(self.clock.now())
        server = self.hosts.get(address)
        if server is None:
            await anyio.sleep_forever()
        assert server is not None
        weather = server.weather
        await anyio.sleep(2 * self.delay(weather, 0))
        while weather.is_cut or weather.is_deaf:  # noqa: ASYNC110  (as SYN packets are repeated)
            await anyio.sleep(_REPEAT_SYN)
        if not server.is_listening:
            self._history.note(f"{address} refuses a connection")
            raise ConnectionRefusedError(111, "Connection refused")
        await self._check_alive()
        self._count += 1
        link = Link(self, self._count, server, self.room)
        self.links[link.number] = link
        self._history.note(f"link {link.number} to {address}")
        server.accept(link)
        return link

    async def _check_alive(self) -> None:
        if self.is_dead:
            await anyio.lowlevel.checkpoint()
            raise ConnectionAbortedError(103, "Software caused connection abort")

    def links_of(self, server: Any) -> list[Link]:
        """Those that are open to a server."""
        return [link for link in self.links.values() if link.server is server]

    def heal(self, server: Server) -> None:
        """What was held while the way was cut arrives."""
        for link in [*self.links.values(), *self.closed.values()]:
            if link.server is server:
                link.out.let_go()
                link.back.let_go()

    @property
    def bytes_out(self) -> int:
        """How many connections and bytes there were: it grows with each byte that leaves."""
        return self._written

    _written = 0

    def note_written(self, size: int) -> None:
        """The agent has written so many bytes."""
        self._written += size


def _nothing() -> None:
    """No side waits for it."""
