"""Scripts of random actions on a channel, against a model made of lists and integers."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from pipeline.channels import BOUNDS, Clock
from swagent.ledger import Drop, Refusal
from swagent.pipeline.channel import Channel, Lease
from swagent.signals import Overflow, Signal


class Model:
    """The behaviour of a channel, written once more in the plainest way. A record is its offer's number, time and
    size."""

    def __init__(self, overflow: Overflow) -> None:
        self.overflow = overflow
        self.queue: list[tuple[int, float, int]] = []
        self.in_flight: list[tuple[int, float, int]] = []
        self.counts: Counter[str] = Counter()
        self.closed = ""

    def offer(self, record: tuple[int, float, int]) -> str:
        """Where the record goes."""
        if self.closed:
            return self.closed
        if record[2] > BOUNDS.max_item_bytes:
            return "too_large"
        if not self.has_room(record[2]):
            self.expire(record[1])
        while self.overflow is Overflow.EVICT_OLDEST and self.queue and not self.has_room(record[2]):
            self.queue.pop(0)
            self.counts["evicted"] += 1
        return "accepted" if self.has_room(record[2]) else "full"

    def has_room(self, size: int) -> bool:
        held = self.queue + self.in_flight
        return len(held) < BOUNDS.max_items and sum(each[2] for each in held) + size <= BOUNDS.max_bytes

    def expire(self, now: float) -> None:
        while self.queue and now - self.queue[0][1] > BOUNDS.max_age:
            self.queue.pop(0)
            self.counts["expired"] += 1


class ChannelMachine(RuleBasedStateMachine):
    """A channel and its model, driven alike."""

    leases = Bundle("leases")
    settled = Bundle("settled")

    @initialize(overflow=st.sampled_from(Overflow))
    def begin(self, overflow: Overflow) -> None:
        self.clock = Clock()
        self.channel = Channel(Signal.SEGMENT, BOUNDS._replace(overflow=overflow), self.clock)
        self.model = Model(overflow)
        self.offered = 0

    @rule(size=st.integers(4, 62))
    def offer(self, size: int) -> None:
        self.offered += 1
        record = (self.offered, self.clock.now, size)
        fate = self.model.offer(record)
        assert self.channel.offer(b"%04d" % self.offered + b"x" * (size - 4)) is (fate == "accepted")
        if fate == "accepted":
            self.model.queue.append(record)
        else:
            self.model.counts[f"refused {fate}"] += 1

    @rule(items=st.integers(1, 4), size=st.integers(1, 120), target=leases)
    def lease(self, items: int, size: int) -> Lease:
        self.model.expire(self.clock.now)
        taken: list[tuple[int, float, int]] = []
        while self.model.queue and len(taken) < items:
            if taken and sum(each[2] for each in taken) + self.model.queue[0][2] > size:
                break
            taken.append(self.model.queue.pop(0))
        self.model.in_flight += taken
        lease = self.channel.lease(items, size)
        assert numbers(lease) == [each[0] for each in taken]
        return lease

    @rule(lease=consumes(leases), target=settled)
    def confirm(self, lease: Lease) -> Lease:
        self.model.counts["confirmed"] += len(self.give_back(lease))
        lease.confirm()
        return lease

    @rule(lease=consumes(leases), reason=st.sampled_from([Drop.REJECTED, Drop.AMBIGUOUS]), target=settled)
    def drop(self, lease: Lease, reason: Drop) -> Lease:
        self.model.counts[reason.value] += len(self.give_back(lease))
        lease.drop(reason)
        return lease

    @rule(lease=consumes(leases), target=settled)
    def release(self, lease: Lease) -> Lease:
        self.model.queue = sorted(self.give_back(lease) + self.model.queue)
        lease.release()
        return lease

    @rule(lease=settled, verdict=st.sampled_from(["confirm", "drop", "release"]))
    def judge_again(self, lease: Lease, verdict: str) -> None:
        {"confirm": lease.confirm, "drop": lambda: lease.drop(Drop.AMBIGUOUS), "release": lease.release}[verdict]()

    @rule(seconds=st.sampled_from([0.5, 29.0, 60.0, 61.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def drop_queued(self) -> None:
        self.model.counts["shutdown"] += len(self.model.queue)
        self.model.queue = []
        self.channel.drop_queued(Drop.SHUTDOWN)

    @precondition(lambda self: not self.model.closed and self.offered > 10)
    @rule(reason=st.sampled_from([Refusal.SHUTDOWN, Refusal.DISABLED]))
    def close(self, reason: Refusal) -> None:
        self.model.closed = reason.value
        self.channel.close(reason)

    @invariant()
    def the_ledger_agrees(self) -> None:
        if not hasattr(self, "channel"):
            return
        statistics, model = self.channel.statistics(), self.model
        counted = Counter({f"refused {reason}": count for reason, count in statistics.refused.items()})
        counted += Counter(dict(statistics.dropped)) + Counter(confirmed=statistics.confirmed)
        assert counted == +model.counts
        assert statistics.balanced
        assert statistics.offered == self.offered
        assert statistics.queued == len(model.queue)
        assert statistics.queued_bytes == sum(each[2] for each in model.queue)
        assert statistics.in_flight == len(model.in_flight)
        assert statistics.state == (model.closed or "on")
        unsettled = [each[0] for each in model.queue + model.in_flight]
        assert self.channel.is_settled(min(unsettled, default=self.offered + 1) - 1)
        assert not unsettled or not self.channel.is_settled(min(unsettled))

    def give_back(self, lease: Lease) -> list[tuple[int, float, int]]:
        mine = [each for each in self.model.in_flight if each[0] in numbers(lease)]
        self.model.in_flight = [each for each in self.model.in_flight if each not in mine]
        return mine


def numbers(lease: Lease) -> list[int]:
    return [int(record[:4]) for record in lease.records]


ChannelMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, database=None)
TestChannelAgainstItsModel = ChannelMachine.TestCase
