"""The ledger: what became of every record, per signal, true at every instant.

    offered  = accepted + refused{reason}
    accepted = confirmed + dropped{reason} + queued + in_flight + spilled

A record is refused before swagent has taken responsibility for it, and dropped afterwards. A record that appears in
none of these places is lost, and that is a bug.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from .signals import Signal


class Refusal(enum.Enum):
    """Why a record was not taken in."""

    FULL = "full"
    """The channel's bounds were reached."""
    TOO_LARGE = "too_large"
    """The record alone is larger than its signal allows."""
    ENCODE_ERROR = "encode_error"
    """The record could not be encoded."""
    DISABLED = "disabled"
    """The signal was given up, since its task crashed again and again."""
    FORKED = "forked"
    """This process is a forked child, and the agent is its parent's."""
    SHUTDOWN = "shutdown"
    """The agent was stopping, or had stopped."""
    SHED = "shed"
    """The channel was nearly full, and the record an ordinary one: the rest of the room is for what matters."""

    __hash__ = object.__hash__  # in C: see Ledger


class Drop(enum.Enum):
    """Why an accepted record was given up."""

    REJECTED = "rejected"
    """The collector refused the batch."""
    AMBIGUOUS = "ambiguous"
    """Bytes left, and no verdict came."""
    EXPIRED = "expired"
    """The record waited longer than its signal's age."""
    EVICTED = "evicted"
    """A newer record needed the room."""
    SHUTDOWN = "shutdown"
    """The agent stopped before the record could be delivered."""
    INTERNAL = "internal"
    """The agent failed: a transport that broke its contract, or a signal that was given up."""

    __hash__ = object.__hash__  # in C: see Ledger


LATENCY_BOUNDS_MS = (0, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000)
"""Lower bounds of the buckets that count how long records took from their offer to their confirmation."""


@dataclass
class Ledger:
    """The running counts of one signal. Its owner, the channel, changes it under its lock only.

    A signal handler or a finaliser of the thread inside may run between any two calls and count too. So a count is read
    and written without a call in between.
    """

    offered: int = 0
    confirmed: int = 0
    refused: dict[Refusal, int] = field(default_factory=dict[Refusal, int])
    dropped: dict[Drop, int] = field(default_factory=dict[Drop, int])
    latency: list[int] = field(default_factory=lambda: [0] * len(LATENCY_BOUNDS_MS))

    def refuse(self, reason: Refusal, count: int = 1) -> None:
        """Count records that are offered and refused."""
        self.refused.setdefault(reason, 0)
        self.offered += count
        self.refused[reason] += count

    def drop(self, reason: Drop, count: int = 1) -> None:
        """Count accepted records given up."""
        self.dropped.setdefault(reason, 0)
        self.dropped[reason] += count

    def time(self, offered_at: Sequence[float], now: float) -> None:
        """Count how long the records took that are about to be confirmed.

        :param offered_at: when each was offered, in seconds; oldest first
        """
        newer = len(offered_at)
        # many records fall into few buckets, so their times are cut at the bounds, and not looked at one by one
        for index, bound in enumerate(LATENCY_BOUNDS_MS[1:]):
            if not newer:
                return
            older = bisect_right(offered_at, now - bound / 1000)
            self.latency[index] += newer - older
            newer = older
        self.latency[-1] += newer


class Losses(NamedTuple):
    """How many records are lost so far, and how many may yet be, over all signals."""

    waiting: int = 0
    refused: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class SignalStatistics:
    """One signal's ledger at one instant."""

    signal: Signal
    offered: int
    """Records that were handed over, since the start."""
    refused: Mapping[str, int]
    """Of these, how many were not taken in, by the value of their `Refusal`."""
    confirmed: int
    """Records that the collector acknowledged."""
    dropped: Mapping[str, int]
    """Records that were taken in and given up, by the value of their `Drop`."""
    queued: int
    """Records that wait now."""
    queued_bytes: int
    in_flight: int
    """Records that are on their way now."""
    state: str = "on"
    """`on`, `orphaned`, or why this signal is off.

    `orphaned`: the agent's tasks were ended from outside, as by a server that cancels all tasks of the loop. No task
    empties the channel now. Records still wait in it, within their bounds, and the agent's stop delivers them.
    `off: ...`: switched off, or not carried by the transport. `disabled`: given up, since its task crashed five times
    within a minute. `shutdown`: the agent is stopping, or has stopped. `forked`: this is a forked child.
    """
    latency: tuple[int, ...] = ()
    """How many records were confirmed within each bucket of `LATENCY_BOUNDS_MS` since they were offered."""
    incomplete: int = 0
    """How many spans were sent that the application had not ended: of segments only."""
    spilled: int = 0
    """Records that wait on the disk now, or to be written there; after the stop those that are left there for the next
    start. Only with `SW_AGENT_SPILL`."""
    recovered: int = 0
    """Of the offered records, those that dead processes had left on the disk. Of these, the ones that may have been
    sent before are dropped as ambiguous."""

    @property
    def accepted(self) -> int:
        """Records that were offered and not refused."""
        return self.offered - sum(self.refused.values())

    @property
    def balanced(self) -> bool:
        """Whether the ledger's identity holds. False is a bug in swagent."""
        waiting = self.queued + self.in_flight + self.spilled
        return self.accepted == self.confirmed + sum(self.dropped.values()) + waiting

    def as_text(self, more: int = 0) -> str:
        """The counts that are not 0, under the names of the meters: `offered=3 confirmed=2 dropped.rejected=1`.

        :param more: so many records more were offered and confirmed
        """
        counts = {"offered": self.offered + more, "confirmed": self.confirmed + more, "queued": self.queued}
        counts |= {"in_flight": self.in_flight, "spilled": self.spilled, "recovered": self.recovered}
        counts |= {f"refused.{reason}": count for reason, count in self.refused.items()}
        counts |= {f"dropped.{reason}": count for reason, count in self.dropped.items()}
        return " ".join(f"{name}={count}" for name, count in counts.items() if count)

    def __str__(self) -> str:
        parts = [
            f"{self.signal.value}: offered {self.offered}, accepted {self.accepted}",
            f"confirmed {self.confirmed}",
        ]
        parts += [f"refused {count} ({reason})" for reason, count in self.refused.items()]
        parts += [f"dropped {count} ({reason})" for reason, count in self.dropped.items()]
        parts += [f"queued {self.queued}", f"in flight {self.in_flight}"]
        parts += [f"on disk {self.spilled}"] if self.spilled else []
        parts += [f"recovered from disk {self.recovered}"] if self.recovered else []
        parts += [f"incomplete spans {self.incomplete}"] if self.incomplete else []
        return ", ".join(parts) + ("" if self.state == "on" else f" [{self.state}]")


@dataclass(frozen=True)
class Statistics:
    """Every signal's ledger at one instant; `statistics["segment"]` or `statistics.segment`."""

    signals: Mapping[Signal, SignalStatistics]

    def __getitem__(self, signal: Signal | str) -> SignalStatistics:
        return self.signals[Signal(signal)]

    def __iter__(self) -> Iterator[SignalStatistics]:
        return iter(self.signals.values())

    @property
    def segment(self) -> SignalStatistics:
        """The traces' ledger."""
        return self[Signal.SEGMENT]

    @property
    def log(self) -> SignalStatistics:
        """The log records' ledger."""
        return self[Signal.LOG]

    @property
    def meter(self) -> SignalStatistics:
        """The meters' ledger; one record is one period's report."""
        return self[Signal.METER]

    @property
    def event(self) -> SignalStatistics:
        """The events' ledger."""
        return self[Signal.EVENT]

    @property
    def profile(self) -> SignalStatistics:
        """The profile snapshots' ledger."""
        return self[Signal.PROFILE]

    @property
    def balanced(self) -> bool:
        """Whether every signal's identity holds."""
        return all(each.balanced for each in self)

    def with_incomplete(self, count: int) -> Statistics:
        """The same, with how many spans were sent that the application had not ended."""
        segment = replace(self.segment, incomplete=count)
        return Statistics({**self.signals, Signal.SEGMENT: segment}) if count else self

    def as_parameters(self) -> dict[str, str]:
        """The ledger of each signal as text, for an event that is about to be sent: who reads it knows that the event
        was confirmed."""
        texts = {each.signal.value: each.as_text(int(each.signal is Signal.EVENT)) for each in self}
        return {signal: text for signal, text in texts.items() if text}

    @property
    def losses(self) -> Losses:
        """How many records are lost so far, and how many may yet be, over all signals."""
        return Losses(
            sum(each.queued + each.in_flight + each.spilled for each in self),
            sum(sum(each.refused.values()) for each in self),
            sum(sum(each.dropped.values()) for each in self),
        )

    @property
    def complete(self) -> bool:
        """Whether everything that was ever offered has been confirmed."""
        return all(each.confirmed == each.offered for each in self)

    def __str__(self) -> str:
        return "; ".join(str(each) for each in self if each.offered) or "nothing was offered"


def named(counts: Mapping[Refusal, int] | Mapping[Drop, int]) -> Mapping[str, int]:
    """Freeze counts by reason under the reasons' names."""
    return MappingProxyType({reason.value: count for reason, count in counts.items()})


def nothing(signal: Signal, state: str) -> SignalStatistics:
    """The ledger of a signal that is off."""
    return SignalStatistics(signal, 0, named({}), 0, named({}), 0, 0, 0, state)
