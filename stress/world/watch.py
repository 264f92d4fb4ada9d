"""What must hold, looked at after every step of the loop and at every verdict.

It looks at the channels from outside: it wraps their functions for the time of a run, and reads their counts without
any of the calls that would change the history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from swagent import Agent
from swagent.ledger import Drop, Refusal
from swagent.pipeline.channel import Channel, Lease
from swagent.pipeline.keep_rate import NEARLY_FULL
from swagent.pipeline.route import Route
from swagent.pipeline.spill.channel import SpillingChannel
from swagent.signals import Signal

from .clock import Clock
from .collector import Truth, numbers_in
from .history import History
from .network import Network
from .spilled import Spilled

IN_FLIGHT = 4
_MOST_TAKES = {"at_most_once": 1, "at_least_once": 3}
_LONGEST_REPEATS = 60.0
_REPEATS, _SHARE = 10, 0.1
_ATTEMPTS, _WITHIN = 60, 10.0


class Watch:
    """The checks of one run, over all lives of the agent.

    :ivar confirmed_at: when each record was confirmed
    :ivar held: seconds for which the loop was held so far: what budgets do not count
    :ivar is_dead: the application has died. What its tasks still do is not seen, and none of it leaves the process
    """

    def __init__(
        self,
        clock: Clock,
        network: Network,
        truth: Truth,
        history: History,
        settings: dict[str, Any],
        spilled: Spilled | None,
    ) -> None:
        self._clock = clock
        self._network = network
        self._truth = truth
        self._history = history
        self._spilled = spilled
        self._settings = settings
        self._max_items = {
            Signal.SEGMENT: settings["trace_max_buffer_size"],
            Signal.LOG: settings["log_reporter_max_buffer_size"],
        }
        self._is_strict = settings["delivery"] == "at_most_once"
        self._agent: Agent | None = None
        self._leased_at: dict[Lease, tuple[float, int, float]] = {}
        self._sent: dict[int, int] = {}
        self._repeats: Counter[Signal] = Counter()
        self._confirmed_batches: Counter[Signal] = Counter()
        self._steps = 0
        self._attempts_seen = 0
        self.held = 0.0
        self.is_stopping = False
        self.is_dead = False
        self.confirmed_at: dict[int, float] = {}
        self._open_at_death: set[int] = set()
        self._lost: list[tuple[float, int]] = []
        self.verdicts: Counter[str] = Counter()

    # -- lives --------------------------------------------------------------------------------------------------------

    def begin(self, agent: Agent) -> None:
        """An agent has started."""
        self._agent = agent
        self.is_stopping = False
        self._sent.clear()
        self._repeats.clear()
        self._confirmed_batches.clear()

    def expect_offered(self, agent: Agent, count: int) -> None:
        """So many segments and log records were recorded in this life."""
        statistics = agent.statistics()
        offered = statistics.segment.offered + statistics.log.offered
        offered -= statistics.segment.recovered + statistics.log.recovered
        if offered != count:
            self._history.violate(f"{count} records were made, and {offered} offered: {statistics}")

    def die(self, *, has_power: bool) -> None:
        """The application dies."""
        for lease in self._leased_at:
            self._open_at_death.update(() if lease.is_settled else _numbers_of(lease.records))
        self._leased_at.clear()
        self._agent, self.is_dead = None, True
        self._network.die()
        if self._spilled is not None:
            self._spilled.die(has_power=has_power)

    def revive(self, first: int) -> None:
        """An agent is about to start.

        :param first: the number of the next record
        """
        self._truth.births.append(first)
        self.is_dead = self._network.is_dead = False

    def lost_since(self, moment: float, upto: int) -> list[int]:
        """The numbers up to this one that were dropped since a moment."""
        return [number for at, number in self._lost if at >= moment and number <= upto]

    def end(self, agent: Agent, seconds: float, budget: float) -> None:
        """An agent has stopped.

        :param seconds: how long its stop took
        :param budget: how long it may take
        """
        if seconds > budget + 0.5 + 1e-6:
            self._history.violate(f"the stop took {seconds:.3f} s, and {budget:g} + 0.5 s are allowed")
        statistics = agent.statistics()
        self._history.note(f"stopped in {seconds:.6f} s: {statistics}")
        for each in statistics:
            if each.queued or each.in_flight:
                self._history.violate(f"after the stop records wait: {each}")
            if not each.balanced:
                self._history.violate(f"after the stop the ledger does not add up: {each}")
        self.step()
        if self._spilled is not None:
            self._spilled.end(agent)
        self._agent = None
        if self._network.links:
            self._history.violate(f"after the stop connections are open: {sorted(self._network.links)}")
        self._leased_at.clear()

    def end_all(self) -> None:
        """The history is over: what was taken, and by whom."""
        most = _MOST_TAKES[self._settings["delivery"]]
        for number, times in self._truth.taken.items():
            if times > most:
                self._history.violate(f"record {number} was taken {times} times")
        if self._is_strict:
            taken = len(self._truth.taken.keys() - self._open_at_death)
            known = self.verdicts["confirmed"] + self.verdicts["ambiguous"]
            if taken > known:
                self._history.violate(f"{taken} records were taken, and {known} confirmed or ambiguous")
        if self._spilled is not None:
            self._spilled.end_all()

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Look at every channel. Called very often."""
        agent = self._agent
        if agent is None:
            return
        self._steps += 1
        is_thorough = not self._steps % 16
        for channel in agent.pipelines.channels.values():
            self._look(channel)
            if is_thorough:
                self._look_closely(channel)
        if len(self._network.attempts) > self._attempts_seen:
            self._look_at_attempts()

    def _look(self, channel: Channel) -> None:
        ledger: Any = channel._ledger
        inside: Any = channel
        held, held_bytes, leased = inside._held, inside._held_bytes, inside._leased
        known = sum(ledger.refused.values()) + ledger.confirmed + sum(ledger.dropped.values()) + held
        if isinstance(channel, SpillingChannel):
            known += channel.backlog.count
        if ledger.offered != known:
            self._history.violate(f"the ledger does not add up: {ledger}, {channel}")
        if (
            held > self._max_items.get(channel.signal, channel.bounds.max_items)
            or held_bytes > channel.bounds.max_bytes
        ):
            self._history.violate(f"beyond its bounds: {channel}")
        if not 0 <= leased <= held or not 0 <= inside._leased_bytes <= held_bytes:
            self._history.violate(f"counts that cannot be: {channel}")
        if len(channel.leases) > IN_FLIGHT:
            self._history.violate(f"{len(channel.leases)} batches under way: {channel}")

    def _look_closely(self, channel: Channel) -> None:
        inside: Any = channel
        row = inside._queue._row
        queued = len(inside._queue)
        size = sum(row[place] for place in range(3, len(row), 4))
        leased = sum(len(lease.records) for lease in channel.leases)
        leased_size = sum(lease.size for lease in channel.leases)
        if (queued + leased, size + leased_size) != (inside._held, inside._held_bytes):
            self._history.violate(f"{queued} + {leased} records, {size} + {leased_size} bytes are there: {channel}")
        if (leased, leased_size) != (inside._leased, inside._leased_bytes):
            self._history.violate(f"{leased} records of {leased_size} bytes are under way: {channel}")
        if self._spilled is not None and isinstance(channel, SpillingChannel):
            self._spilled.look(channel)
        now = self._clock.now()
        for lease, (since, _, held) in [*self._leased_at.items()]:
            if lease.is_settled:
                del self._leased_at[lease]
            elif now - since - (self.held - held) > self._longest(channel):
                self._history.violate(f"a batch is under way for {now - since:.1f} s: {channel}")

    def _longest(self, channel: Channel) -> float:
        """Seconds after which a batch has its verdict."""
        # a call whose loop was held has its time once more; each period of meters has a call of its own
        calls: float = 2 * self._settings["request_timeout"] + 1
        if channel.signal is Signal.METER:
            calls *= channel.bounds.batch_items
        return calls if self._is_strict else _LONGEST_REPEATS + calls

    def _look_at_attempts(self) -> None:
        attempts = self._network.attempts
        self._attempts_seen = len(attempts)
        if len(attempts) > _ATTEMPTS and attempts[-1] - attempts[-1 - _ATTEMPTS] < _WITHIN:
            seconds = attempts[-1] - attempts[-1 - _ATTEMPTS]
            self._history.violate(f"{_ATTEMPTS} attempts to connect in {seconds:.1f} s")

    # -- verdicts -----------------------------------------------------------------------------------------------------

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """See every verdict."""
        watch = self
        lease, settle, restore, offer = Channel.lease, Channel.settle, Channel.restore, Channel.offer
        call = Route.call

        async def seen_call(route: Route, function: Any, *args: Any) -> Any:
            if function.__name__ == "send":
                watch._note_send(*args)
            return await call(route, function, *args)

        def seen_lease(channel: Channel, max_items: int, max_bytes: int) -> Lease:
            found = lease(channel, max_items, max_bytes)
            watch._note_lease(channel, found)
            return found

        def seen_settle(channel: Channel, of: Lease, reason: Drop | None, dropped: int | None = None) -> None:
            if not of.is_settled:
                watch._note_verdict(channel, of, "confirmed" if reason is None else reason.value)
            settle(channel, of, reason, dropped)

        def seen_restore(channel: Channel, of: Lease) -> None:
            if not of.is_settled:
                watch._note_verdict(channel, of, "released")
            restore(channel, of)

        def seen_offer(channel: Channel, payload: bytes, at: float | None = None) -> bool:
            is_taken = offer(channel, payload, at)
            if not is_taken:
                watch._note_refusal(channel, payload)
            return is_taken

        with (
            patch.object(Route, "call", seen_call),
            patch.object(Channel, "lease", seen_lease),
            patch.object(Channel, "settle", seen_settle),
            patch.object(Channel, "restore", seen_restore),
            patch.object(Channel, "offer", seen_offer),
            patch.object(Channel, "refuse", self._seeing(Channel.refuse)),
        ):
            yield

    def _seeing(self, refuse: Callable[[Channel, Refusal, int], None]) -> Callable[..., None]:
        def seen_refuse(channel: Channel, reason: Refusal, count: int = 1) -> None:
            if reason is Refusal.SHED and not self.is_dead and channel.fill < NEARLY_FULL:
                self._history.violate(f"ordinary records are dropped, and there is room: {channel}")
            refuse(channel, reason, count)

        return seen_refuse

    def _note_lease(self, channel: Channel, lease: Lease) -> None:
        if not lease.records or self.is_dead:
            return
        now, bounds = self._clock.now(), channel.bounds
        self._leased_at[lease] = (now, self._network.bytes_out, self.held)
        if len(lease.records) > bounds.batch_items or (lease.size > bounds.batch_bytes and len(lease.records) > 1):
            self._history.violate(f"a batch of {len(lease.records)} records, {lease.size} bytes: {channel}")
        if now - min(lease.times) > bounds.max_age + 1e-6:
            self._history.violate(f"a record of {now - min(lease.times):.1f} s is sent: {channel}")

    def _note_send(self, signal: Signal, records: Sequence[bytes]) -> None:
        if self.is_dead:
            return
        times = self._sent[id(records)] = self._sent.get(id(records), 0) + 1
        self._repeats[signal] += times > 1
        if times > _MOST_TAKES[self._settings["delivery"]]:
            self._history.violate(f"{len(records)} records of {signal.value}: attempt number {times}")
        if self._repeats[signal] > _REPEATS + _SHARE * self._confirmed_batches[signal] + 1e-6:
            count = self._confirmed_batches[signal]
            self._history.violate(f"{self._repeats[signal]} repeats, and {count} batches were confirmed")

    def _note_verdict(self, channel: Channel, lease: Lease, verdict: str) -> None:
        if self.is_dead:
            return
        numbers = _numbers_of(lease.records)
        self._history.note(f"{channel.signal.value}: {len(lease.records)} records {verdict}{_range(numbers)}")
        if channel.signal in (Signal.SEGMENT, Signal.LOG):
            self.verdicts[verdict] += len(numbers)
        if self._spilled is not None and verdict != "released":
            self._spilled.note_fate(numbers)
        if verdict not in ("confirmed", "released"):
            self._lost += [(self._clock.now(), number) for number in numbers]
        self._sent.pop(id(lease.records), None)
        self._confirmed_batches[channel.signal] += verdict == "confirmed"
        _, bytes_before, _ = self._leased_at.pop(lease, (0.0, -1, 0.0))
        if verdict == "confirmed":
            now = self._clock.now()
            self.confirmed_at.update(dict.fromkeys(numbers, now))
            self._expect_none(set(numbers) - self._truth.granted, "confirmed without an answer that says so")
        elif verdict in ("released", "rejected") and self._is_strict:
            self._expect_none(self._truth.taken.keys() & set(numbers), f"{verdict}, and a collector has taken them")
        elif verdict == "ambiguous" and not self.is_stopping and self._network.bytes_out == bytes_before:
            self._history.violate(f"{len(lease.records)} records are ambiguous, and no byte has left")
        elif verdict == "internal":
            self._history.violate(f"{len(lease.records)} records were lost by a fault of ours")

    def _note_refusal(self, channel: Channel, payload: bytes) -> None:
        inside: Any = channel
        bounds, size = channel.bounds, len(payload)
        has_room = inside._held < bounds.max_items and inside._held_bytes + size <= bounds.max_bytes
        if not (self.is_dead or channel.is_closed) and size <= bounds.max_item_bytes and has_room:
            self._history.violate(f"refused, and there is room: {channel}")

    def _expect_none(self, numbers: set[int], text: str) -> None:
        if numbers:
            self._history.violate(f"records {sorted(numbers)[:5]}: {text}")


def _numbers_of(records: Sequence[bytes]) -> list[int]:
    """The number of each record that bears one."""
    return [number for record in records for number in numbers_in(record)[:1]]


def _range(numbers: Sequence[int]) -> str:
    return f", {numbers[0]} to {numbers[-1]}" if numbers else ""
