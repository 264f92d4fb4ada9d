"""A finaliser or a signal handler of the thread that is inside the channel may offer a record too.

The interpreter runs both between two calls, so the tests interrupt an operation at each of its calls in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faults.covering import covers
from pipeline.channels import EVICTING, Clock, channel_of, fill, interrupted
from swagent.ledger import Drop
from swagent.pipeline.channel import Channel

Operation = Callable[[Channel], object]


def lease_and(verdict: str) -> Operation:
    def operate(channel: Channel) -> None:
        lease = channel.lease(2, 1000)
        if verdict == "drop":
            lease.drop(Drop.REJECTED)
        else:
            getattr(lease, verdict)()

    return operate


OPERATIONS: dict[str, Operation] = {
    "offer": lambda channel: channel.offer(b"outer"),
    "confirm": lease_and("confirm"),
    "drop": lease_and("drop"),
    "release": lease_and("release"),
    "drop queued": lambda channel: channel.drop_queued(Drop.SHUTDOWN),
}


@covers("C06")
@pytest.mark.parametrize("policy", [{}, EVICTING], ids=["refusing", "evicting"])
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_an_offer_nests_at_every_call(operation: Operation, policy: dict[str, Any]) -> None:
    at = 1
    while True:
        channel = channel_of(max_items=3, **policy)
        fill(channel, b"1", b"2")
        seen: list[bool] = []

        def nest(channel: Channel = channel, seen: list[bool] = seen) -> None:
            seen.append(channel.offer(b"nested"))
            seen.append(channel.statistics().balanced)

        if not interrupted(lambda channel=channel: operation(channel), at, nest):  # type: ignore[misc]
            break
        statistics = channel.statistics()
        held = channel.lease(1000, 1000).records
        assert statistics.balanced, f"at call {at}: {statistics}"
        assert seen[1], f"inside, at call {at}"
        assert statistics.queued == len(held) <= 3, f"at call {at}: {held}"
        assert statistics.queued_bytes == sum(map(len, held)), f"at call {at}"
        assert statistics.offered == 3 + (operation is OPERATIONS["offer"])
        at += 1
    assert at > 5


@covers("C06")
def test_a_finaliser_that_runs_while_the_clock_is_read_does_not_pass_the_bounds() -> None:
    clock = Clock()
    channel = channel_of(clock, max_items=1)
    nested: list[bool] = []

    def read() -> float:
        if not nested:
            nested.append(True)
            nested.append(channel.offer(b"nested"))
        return clock()

    channel.clock = read
    assert not channel.offer(b"outer")
    assert nested == [True, True]
    assert channel.lease(10, 1000).records == [b"nested"]
    assert channel.statistics().balanced
