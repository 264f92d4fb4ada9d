"""A collector: what it takes, what it answers, and when. Its protocols are `http_server` and `grpc_server`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any, Literal, Protocol

from .history import History
from .network import Link, Network, Weather

Answer = Literal[
    "ok", "error", "busy", "refused", "forbidden", "unknown", "silent", "reset", "unprocessed", "goaway", "garbage"
]
TAKES = frozenset({"ok", "error", "silent", "reset", "garbage"})
"""The answers behind which a collector may have taken the batch; with `ok` it has."""
_NUMBER = re.compile(rb"#(\d+)#")


@dataclass
class Truth:
    """What has really become of the records, by the numbers that they bear.

    :ivar taken: how often a collector has taken each
    :ivar granted: those to which a collector has answered that it has them
    :ivar births: the first record of each life of the application. One that comes from a former life by way of a disk
        is behind those of this one
    """

    taken: Counter[int] = field(default_factory=Counter[int])
    granted: set[int] = field(default_factory=set[int])
    births: list[int] = field(default_factory=list[int])

    def are_in_order(self, numbers: Sequence[int]) -> bool:
        """Whether those of one life that are beside each other are."""
        return all(
            earlier < later or bisect_right(self.births, earlier) != bisect_right(self.births, later)
            for earlier, later in pairwise(numbers)
        )


def numbers_in(data: bytes) -> list[int]:
    """The numbers of the records in these bytes, in their order."""
    return list(map(int, _NUMBER.findall(data)))


class Call:
    """One request.

    :ivar reply: sends the answer that this protocol has for it
    """

    def __init__(self, path: str, numbers: Sequence[int], reply: Callable[[Answer], None]) -> None:
        self.path = path
        self.numbers = numbers
        self.reply = reply


class Session(Protocol):
    """The server's end of one connection."""

    def feed(self, data: bytes) -> None:
        """Take bytes."""
        ...

    def end(self) -> None:
        """There will be no more."""
        ...


class Collector:
    """One process behind one address.

    :ivar mood: the answers that it has for batches and heartbeats, of which one is drawn each time
    :ivar wait: seconds that an answer takes, at most
    :ivar appetite: bytes that it reads a second; 0: all at once
    :ivar is_stopped: as under SIGSTOP: its system takes connections and bytes, and it does not
    """

    def __init__(
        self,
        network: Network,
        address: str,
        random: Random,
        truth: Truth,
        history: History,
        session: Callable[..., Any],
    ) -> None:
        self.address = address
        self.is_listening = True
        self.weather = Weather()
        self.mood: tuple[Answer, ...] = ("ok",)
        self.wait = 0.005
        self.appetite = 0.0
        self.is_stopped = False
        self.beats: list[float] = []
        self._network = network
        self._random = random
        self._truth = truth
        self._history = history
        self._make_session = session
        self._sessions: dict[Link, Session] = {}
        self._is_eating = False

    def accept(self, link: Link) -> None:
        """Take a connection."""
        self._sessions[link] = self._make_session(self, link)
        link.out.on_readable = lambda: self._read(link)
        link.on_gone = lambda: self._lose(link)
        self._read(link)

    def kill(self) -> None:
        """End the process: its system resets the connections."""
        self.is_listening = False
        for link in list(self._sessions):
            link.reset()
        self.is_stopped = False

    def start(self) -> None:
        """Start it again."""
        self.is_listening = True

    def resume(self) -> None:
        """As by SIGCONT."""
        self.is_stopped = False
        for link in list(self._sessions):
            self._read(link)

    def take(self, call: Call) -> Answer:
        """Take a call, and answer it some time.

        :returns: the answer that it will get
        """
        random = self._random
        answer = random.choice(self.mood)
        is_taken = answer == "ok" or (answer in TAKES and random.random() < 0.5)
        wait = self.wait * random.random()
        self._history.note(f"{self.address} {call.path} of {_short(call.numbers)}: {answer} in {wait:.3f} s")
        if is_taken:
            self.note_taken(call.numbers)
        if "management" in call.path.lower() or "keepalive" in call.path.lower():
            self.beats.append(self._network.clock.now())
        self._network.clock.call_at(self._network.clock.now() + wait, lambda: self._answer(call, answer))
        return answer

    def take_part(self, numbers: Sequence[int]) -> None:
        """A stream broke off behind these records. Collectors work on the records of a stream as they come."""
        if numbers and self._random.random() < 0.5:
            self._history.note(f"{self.address} took {_short(numbers)} of a broken stream")
            self.note_taken(numbers)

    def note_taken(self, numbers: Sequence[int]) -> None:
        """Store records."""
        self._truth.taken.update(numbers)
        if not self._truth.are_in_order(numbers):
            self._history.violate(f"out of order: {numbers}")

    def _answer(self, call: Call, answer: Answer) -> None:
        if answer == "ok":
            self._truth.granted.update(call.numbers)
        if answer != "silent":
            call.reply(answer)

    def _read(self, link: Link) -> None:
        if self.is_stopped:
            return
        if self.appetite:
            if not self._is_eating:
                self._is_eating = True
                self._eat()
            return
        self._feed(link, 1 << 20)

    def _eat(self) -> None:
        """Read a little, and again in a while."""
        self._is_eating = bool(self.appetite) and not self.is_stopped
        for link in list(self._sessions):
            self._feed(link, int(self.appetite / 10) + 1 if self._is_eating else 1 << 20)
        if self._is_eating:
            self._is_eating = any(link.out.arrived for link in self._sessions)
        if self._is_eating:
            self._network.clock.call_at(self._network.clock.now() + 0.1, self._eat)

    def _feed(self, link: Link, most: int) -> None:
        session = self._sessions.get(link)
        if session is None or self.is_stopped:
            return
        if data := link.out.read(most):
            session.feed(data)
        if link.out.has_ended and not link.out.arrived:
            self._lose(link)

    def _lose(self, link: Link) -> None:
        session = self._sessions.pop(link, None)
        if session is not None:
            session.end()
            link.back.close()
            self._network.closed.pop(link.number, None)


def _short(numbers: Sequence[int]) -> str:
    if not numbers:
        return "nothing"
    return f"{len(numbers)} records, {numbers[0]} to {numbers[-1]}"
