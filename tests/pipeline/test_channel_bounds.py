"""The bounds of a channel, and its behaviour when it is full."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.channels import EVICTING, Clock, channel_of, fill, filled, waiting
from swagent.ledger import Drop, Refusal
from swagent.pipeline.channel import Channel


def refused(channel: Channel) -> dict[str, int]:
    assert channel.statistics().balanced
    return dict(channel.statistics().refused)


def dropped(channel: Channel) -> dict[str, int]:
    assert channel.statistics().balanced
    return dict(channel.statistics().dropped)


@pytest.mark.parametrize(("last", "is_taken"), [(40, True), (41, False)])
def test_bytes_are_bounded_to_the_exact_byte(last: int, is_taken: bool) -> None:
    channel = filled(b"x" * 60, max_bytes=100)
    assert channel.offer(b"y" * last) is is_taken
    assert channel.statistics().queued_bytes == (100 if is_taken else 60)


def test_in_flight_bytes_count_to_the_exact_byte() -> None:
    channel = filled(b"x" * 60, b"y" * 39, max_bytes=100)
    lease = channel.lease(1, 1000)
    assert not channel.offer(b"22")
    assert channel.offer(b"1")
    lease.confirm()
    assert channel.offer(b"z" * 60)
    assert channel.statistics().queued_bytes == 100


@pytest.mark.parametrize(("size", "is_taken"), [(60, True), (61, False)])
def test_one_record_is_bounded_to_the_exact_byte(size: int, is_taken: bool) -> None:
    channel = channel_of(max_item_bytes=60)
    assert channel.offer(b"x" * size) is is_taken
    assert refused(channel) == ({} if is_taken else {"too_large": 1})


def test_evicting_makes_room_from_the_oldest() -> None:
    channel = filled(b"1", b"2", b"3", b"4", b"5", max_items=3, **EVICTING)
    assert waiting(channel) == [b"3", b"4", b"5"]
    assert dropped(channel) == {"evicted": 2}


def test_evicting_makes_room_for_every_byte_and_no_more() -> None:
    channel = filled(b"a" * 30, b"b" * 30, b"c" * 40, b"d" * 31, max_bytes=100, **EVICTING)
    assert [record[:1] for record in waiting(channel)] == [b"c", b"d"]
    assert channel.statistics().queued_bytes == 71


def test_a_full_channel_first_lets_go_of_what_is_past_its_age() -> None:
    clock = Clock()
    channel = filled(b"1", clock=clock, max_items=2, max_age=60.0)
    clock.now = 30.0
    fill(channel, b"2")
    clock.now = 60.0
    assert not channel.is_open
    assert not channel.offer(b"3")
    clock.now = 60.1
    assert channel.is_open
    assert channel.offer(b"3")
    assert waiting(channel) == [b"2", b"3"]
    assert dropped(channel) == {"expired": 1}


def test_time_in_flight_does_not_expire_but_a_released_record_does() -> None:
    clock = Clock()
    channel = filled(b"1", clock=clock, max_age=60.0)
    lease = channel.lease(1, 1000)
    clock.now = 61.0
    lease.release()
    assert dropped(channel) == {}
    assert channel.lease(1, 1000).records == []
    assert dropped(channel) == {"expired": 1}


@pytest.mark.parametrize("policy", [{}, EVICTING], ids=["refusing", "evicting"])
def test_is_open_says_what_an_offer_would_do(policy: dict[str, Any]) -> None:
    channel = channel_of(max_items=1, **policy)
    assert channel.is_open
    fill(channel, b"1")
    assert channel.is_open is channel.offer(b"2")
    channel.close()
    assert not channel.is_open


@pytest.mark.parametrize("reason", [Refusal.SHUTDOWN, Refusal.DISABLED], ids=lambda reason: reason.value)
def test_a_closed_channel_refuses_for_the_reason_it_was_closed_for(reason: Refusal) -> None:
    channel = filled(b"1")
    channel.close(reason)
    assert not channel.offer(b"2")
    channel.refuse(Refusal.FULL)
    assert refused(channel) == {reason.value: 2}
    assert channel.statistics().state == reason.value
    assert waiting(channel) == [b"1"]


def test_a_record_that_could_not_be_made_is_offered_and_refused() -> None:
    channel = channel_of()
    channel.refuse(Refusal.ENCODE_ERROR)
    assert channel.statistics().offered == 1
    assert refused(channel) == {"encode_error": 1}


def test_waiting_records_can_be_given_up_at_once() -> None:
    channel = filled(b"1", b"2", b"3")
    lease = channel.lease(1, 1000)
    assert channel.drop_queued(Drop.SHUTDOWN) == 2
    assert channel.drop_queued(Drop.SHUTDOWN) == 0
    lease.confirm()
    assert dropped(channel) == {"shutdown": 2}


def test_a_forked_child_holds_nothing_and_settles_nothing() -> None:
    channel = filled(b"1", b"2")
    lease = channel.lease(1, 1000)
    channel.after_fork_in_child()
    lease.confirm()
    assert not channel.offer(b"3")
    statistics = channel.statistics()
    assert (statistics.confirmed, statistics.queued, statistics.in_flight) == (0, 0, 0)
    assert refused(channel) == {"forked": 1}
