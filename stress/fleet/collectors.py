"""Collectors, and the name behind which they are."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal, Protocol

from swagent_transports._resolver import shuffled

from .clock import Clock

State = Literal["well", "refuses", "slow", "dead", "gone"]
"""`refuses` answers calls and takes none; `slow` answers too late; `dead` is no process, so its system refuses
connections; `gone` is no machine, so nothing answers."""
ROUND_TRIP = 0.001
_BACKLOG = 1024


class Client(Protocol):
    """The agent's side of connections."""

    def notice(self) -> None:
        """The collector over there behaves otherwise from now on."""
        ...

    def lose(self) -> None:
        """The connection is reset."""
        ...


class Collector:
    """One process behind one address.

    :ivar clients: those whose connection is here
    :ivar rate: connections that it takes a second, with their handshakes
    """

    def __init__(self, clock: Clock, address: str, rate: float) -> None:
        self.address = address
        self.state: State = "well"
        self.life = 0
        self.clients: dict[Client, None] = {}
        self._clock = clock
        self._rate = rate
        self._free_at = 0.0

    @property
    def is_up(self) -> bool:
        """Whether a process listens."""
        return self.state not in ("dead", "gone")

    def become(self, state: State) -> None:
        """Change, and let the clients notice as much as clients can."""
        self.state = state
        if state == "dead":
            self.life += 1
            self._free_at = 0.0
        for client in list(self.clients):
            if state == "dead":
                client.lose()
            else:
                client.notice()

    def admit(self) -> float | None:
        """Queue for a connection: the seconds until it is made; None: the queue is full, and nothing answers."""
        now = self._clock.now
        waits = max(0.0, self._free_at - now)
        if waits * self._rate >= _BACKLOG:
            return None
        self._free_at = now + waits + 1 / self._rate
        return waits + 1 / self._rate + 2 * ROUND_TRIP


class Name:
    """The name of all collectors: either it has all of their addresses, or the one of a balancer before them."""

    def __init__(self, collectors: Sequence[Collector], random: Random, *, has_balancer: bool) -> None:
        self._by_address = {each.address: each for each in collectors}
        self._random = random
        self._has_balancer = has_balancer

    def resolve(self) -> list[Collector | None]:
        """The collectors to try, in this order. None: the balancer has none, and refuses."""
        if self._has_balancer:
            up = [each for each in self._by_address.values() if each.state != "dead"]
            return [self._random.choice(up) if up else None]
        return [self._by_address[each] for each in shuffled(self._by_address, self._random)]
