"""Leases: records on their way, and the one verdict that each gets."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from pipeline.channels import fill, filled, waiting
from swagent.ledger import Drop
from swagent.pipeline.channel import Channel, Lease

Verdict = Callable[[Lease], None]
VERDICTS: dict[str, Verdict] = {
    "confirm": Lease.confirm,
    "drop": lambda lease: lease.drop(Drop.REJECTED),
    "release": Lease.release,
}


def outcome(channel: Channel) -> tuple[int, dict[str, int], int, int]:
    statistics = channel.statistics()
    assert statistics.balanced
    return statistics.confirmed, dict(statistics.dropped), statistics.queued, statistics.in_flight


@pytest.mark.parametrize(
    ("refused", "expected"), [(0, (3, {"rejected": 0})), (1, (2, {"rejected": 1})), (9, (0, {"rejected": 3}))]
)
def test_a_part_of_a_lease_may_be_refused(refused: int, expected: tuple[int, dict[str, int]]) -> None:
    channel = filled(b"1", b"2", b"3")
    channel.lease(3, 1000).drop(Drop.REJECTED, refused)
    assert outcome(channel) == (*expected, 0, 0)


@pytest.mark.parametrize(("first", "second"), [*itertools.product(VERDICTS, VERDICTS)])
def test_only_the_first_verdict_counts(first: str, second: str) -> None:
    channel = filled(b"1", b"2", b"3")
    lease = channel.lease(2, 1000)
    VERDICTS[first](lease)
    settled = outcome(channel)
    VERDICTS[second](lease)
    assert outcome(channel) == settled


def test_a_late_verdict_does_not_touch_the_lease_that_took_the_records_next() -> None:
    channel = filled(b"1")
    early = channel.lease(1, 1000)
    early.release()
    again = channel.lease(1, 1000)
    early.confirm()
    assert outcome(channel) == (0, {}, 0, 1)
    again.confirm()
    assert outcome(channel) == (1, {}, 0, 0)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_released_records_come_back_to_the_head_in_the_order_of_their_offers(order: tuple[int, ...]) -> None:
    channel = filled(b"1", b"2", b"3", b"4", b"5", b"6", b"7", max_items=10)
    leases = [channel.lease(2, 1000) for _ in range(3)]
    for index in order:
        leases[index].release()
    assert waiting(channel) == [b"1", b"2", b"3", b"4", b"5", b"6", b"7"]


def test_settled_says_whether_everything_offered_so_far_has_its_verdict() -> None:
    channel = filled(b"1", b"2")
    first, second = channel.lease(1, 1000), channel.lease(1, 1000)
    fill(channel, b"3")
    channel.lease(1, 1000).confirm()
    second.confirm()
    assert channel.is_settled(0)
    assert not channel.is_settled(2)
    first.drop(Drop.AMBIGUOUS)
    assert channel.is_settled(2)
    assert channel.is_settled(3)
