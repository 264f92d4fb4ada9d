"""Records are pending and encoded a group at a time, and no reader sees a difference."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from pipeline.channels import AMPLE, Clock, batcher_of, channel_of, interrupted
from swagent.agent_log import RateLimitedLog
from swagent.ledger import Drop, Refusal
from swagent.pipeline.channel import Channel
from swagent.pipeline.intake import GROUP, Intake, SegmentIntake
from swagent.record.trace.model import Component
from swagent.request.facts import Facts
from swagent.request.finished import (
    CALLER,
    CLIENT,
    END,
    FACTS,
    FIELDS,
    NO_FACTS,
    NUMBER,
    START,
    TIMES,
    FinishedRequest,
    columns,
)


class Encoding:
    """Notes what it encodes."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __call__(self, record: str) -> bytes:
        if record == "poison":
            raise ValueError(record)
        self.done.append(record)
        return record.encode()


_LONGEST = 30.0


def intake_of(channel: Channel) -> tuple[Intake[str], Encoding]:
    encoding = Encoding()
    return Intake(channel, encoding, RateLimitedLog()), encoding


class RequestsAlike:
    """Encodes requests that are like others, in groups that it notes by their numbers."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []

    def encode_alike(self, row: Sequence[Any], epoch: float) -> Sequence[bytes | None]:
        numbers: Sequence[int] = row[NUMBER::FIELDS]
        self.groups.append([*numbers])
        return [b"request %d" % number for number in numbers]

    def encode(self, finished: Sequence[Any], epoch: float) -> bytes | None:
        raise AssertionError("each is like the others")


def request(number: int) -> FinishedRequest:
    now = time.monotonic()
    return FinishedRequest(
        number, now, now + 1, ("::1", 80), b"1-x", None, "GET", "http", b"shop", "/", "/", Component.PYTHON, 200
    )


def test_the_places_in_a_row_are_those_of_the_fields() -> None:
    finished = request(7)
    assert FinishedRequest._fields[FACTS:] == Facts._fields
    assert FinishedRequest._fields[TIMES] == "times"
    assert FACTS + len(NO_FACTS) == FIELDS
    assert (finished[NUMBER], finished[START], finished[END]) == (finished.number, finished.start, finished.end)
    assert (finished[CLIENT], finished[CALLER]) == (finished.client, finished.caller)
    assert [list(column) for column in columns([*finished, *finished])] == [[field, field] for field in finished]


@pytest.mark.parametrize("kinds", ["rrr", "sss", "rsrrs", "srs", "s", "r"])
def test_segments_between_requests_keep_these_from_nothing(kinds: str) -> None:
    channel, requests, encoding = channel_of(**AMPLE), RequestsAlike(), Encoding()
    intake = SegmentIntake(channel, encoding, requests, RateLimitedLog())
    for number, kind in enumerate(kinds, 1):
        if kind == "r":
            intake.offer_request(request(number))
        else:
            intake.offer(f"segment {number}")
    names = {"r": "request", "s": "segment"}
    found = [f"{names[kind]} {number}".encode() for number, kind in enumerate(kinds, 1)]
    assert channel.lease(100, 10_000).records == found
    of_requests = [number for number, kind in enumerate(kinds, 1) if kind == "r"]
    assert requests.groups == ([of_requests] if of_requests else []), "they are encoded together, and nothing else is"


def test_segments_that_are_plain_are_encoded_together_and_the_others_one_by_one() -> None:
    channel, requests, encoding = channel_of(**AMPLE), RequestsAlike(), Encoding()
    groups: list[list[str]] = []

    def encode_plain(segments: list[str]) -> list[bytes | None]:
        groups.append([*segments])
        return [each.encode() if "plain" in each else None for each in segments]

    intake = SegmentIntake(channel, encoding, requests, RateLimitedLog(), encode_plain=encode_plain)
    for segment in ("plain 1", "odd 2", "", "poison", "plain 4"):
        if segment:
            intake.offer(segment)
        else:
            intake.offer_request(request(3))
    assert channel.lease(100, 10_000).records == [b"plain 1", b"odd 2", b"request 3", b"plain 4"]
    assert groups == [["plain 1", "odd 2", "poison", "plain 4"]]
    assert encoding.done == ["odd 2"], "and the poison, which was refused"


def test_nothing_is_encoded_before_a_group_is_there() -> None:
    intake, encoding = intake_of(channel_of(**AMPLE))
    names = [str(number) for number in range(GROUP)]
    for name in names[:-1]:
        intake.offer(name)
    assert encoding.done == []
    intake.offer(names[-1])
    assert encoding.done == names


def test_a_parked_reader_hears_of_a_record_whatever_comes_in_between() -> None:
    at = 0
    is_interrupted = True
    while is_interrupted:
        at += 1
        channel = channel_of(**AMPLE)
        intake, _ = intake_of(channel)
        heard: list[object] = []
        channel.attach(heard.append)
        assert channel._until_due(batcher_of(channel)) == math.inf, "it is parked"
        # another thread, as far as can be seen
        is_interrupted = interrupted(partial(intake.offer, "a"), at, partial(intake.offer, "b"))
        channel.attach(None)
        # twice where both find it parked, as from 3.14 on, where taking the lock is a call that can be interrupted
        assert 1 <= len(heard) <= 2, f"interrupted at call {at}"
    assert at > 3


LOOKS: dict[str, Callable[[Channel], Any]] = {
    "statistics": Channel.statistics,
    "a batch": lambda channel: channel.lease(10, 1000),
    "the reader": lambda channel: channel._until_due(batcher_of(channel)),
    "the end": Channel.close,
    "giving up": lambda channel: channel.drop_queued(Drop.SHUTDOWN),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_whoever_looks_finds_everything_in_its_order(look: Callable[[Channel], Any]) -> None:
    channel = channel_of(**AMPLE)
    intake, encoding = intake_of(channel)
    intake.offer("a")
    intake.offer("b")
    look(channel)
    assert encoding.done == ["a", "b"]
    assert channel.statistics().offered == 2


def test_a_record_is_as_old_as_its_finish_not_its_encoding() -> None:
    clock = Clock()
    channel = channel_of(clock, max_age=10.0)
    intake, _ = intake_of(channel)
    intake.offer("old")
    clock.now = 11.0
    intake.offer("new")
    assert channel.lease(10, 1000).records == [b"new"]
    assert dict(channel.statistics().dropped) == {"expired": 1}


def test_poison_fails_alone() -> None:
    channel = channel_of()
    intake, _ = intake_of(channel)
    for name in ("a", "poison", "b"):
        intake.offer(name)
    assert dict(channel.statistics().refused) == {"encode_error": 1}
    assert channel.lease(10, 1000).records == [b"a", b"b"]
    channel.close()
    intake.offer("late")
    assert dict(channel.statistics().refused) == {"encode_error": 1, "shutdown": 1}


def test_a_record_that_finds_no_room_is_refused_unencoded() -> None:
    channel = channel_of(max_items=2)
    intake, encoding = intake_of(channel)
    for name in "abcd":
        intake.offer(name)
    assert dict(channel.statistics().refused) == {"full": 2}
    assert encoding.done == ["a", "b"]


def test_code_that_encoding_sets_going_may_offer_and_look() -> None:
    channel = channel_of(**AMPLE)
    more = itertools.count()

    def encode(record: str) -> bytes:
        if next(more) < 3:
            intake.offer(record + "+")
            channel.statistics()
        return record.encode()

    intake = Intake[str](channel, encode, RateLimitedLog())
    intake.offer("a")
    assert channel.statistics().offered == 4
    assert channel.lease(10, 1000).records == [b"a", b"a+", b"a++", b"a+++"]


def test_a_child_process_leaves_what_was_set_down_to_its_parent() -> None:
    channel = channel_of()
    intake, encoding = intake_of(channel)
    intake.offer("the parent's")
    intake.after_fork_in_child()
    channel.after_fork_in_child()
    assert channel.statistics().offered == 0
    intake.offer("the child's")
    intake.encode()
    assert encoding.done == []
    assert dict(channel.statistics().refused) == {Refusal.FORKED.value: 1}


def test_a_child_process_that_begins_amid_an_encoding_goes_on() -> None:
    """As of a signal handler that forks there, and returns in the child."""

    def encode(record: bytes) -> bytes:
        intake.after_fork_in_child()
        channel.after_fork_in_child()
        return record

    channel = channel_of()
    intake = Intake(channel, encode, RateLimitedLog())
    intake.offer(b"the parent's")
    intake.encode()
    intake.offer(b"the child's")
    assert dict(channel.statistics().refused) == {Refusal.FORKED.value: 2}


class EncodingElsewhere:
    """An intake whose group another thread encodes just now, until `go` is set."""

    def __init__(self) -> None:
        self.channel = channel_of(**AMPLE)
        self.go = threading.Event()
        begun = threading.Event()

        def encode(record: bytes) -> bytes:
            begun.set()
            assert self.go.wait(_LONGEST)
            return record

        self.intake = Intake(self.channel, encode, RateLimitedLog())
        for _ in range(GROUP - 1):
            self.intake.offer(b"1")
        self.thread = threading.Thread(target=self.intake.offer, args=(b"2",))
        self.thread.start()
        assert begun.wait(_LONGEST)

    def go_soon(self) -> None:
        """Let it go on once this thread waits."""
        threading.Timer(0.05, self.go.set).start()


@pytest.mark.parametrize("look", ["statistics", "close"])
def test_a_look_finds_what_another_thread_encodes(look: str) -> None:
    elsewhere = EncodingElsewhere()
    elsewhere.go_soon()
    getattr(elsewhere.channel, look)()
    assert elsewhere.channel._ledger.offered == GROUP
    elsewhere.thread.join()
    assert elsewhere.channel.statistics().accepted == GROUP


def test_the_reader_waits_for_no_thread_that_encodes() -> None:
    elsewhere = EncodingElsewhere()
    elsewhere.intake.offer(b"3")
    assert elsewhere.channel._until_due(batcher_of(elsewhere.channel)) == math.inf
    assert not elsewhere.channel.lease(1, 1).records
    elsewhere.go.set()
    elsewhere.thread.join()
    assert elsewhere.channel._held == GROUP + 1


def test_a_thread_that_is_interrupted_inside_of_the_channel_waits_for_none_that_encodes() -> None:
    """As by a finaliser that ends a span there: the thread that encodes waits for the channel itself."""
    elsewhere = EncodingElsewhere()

    def record_inside() -> None:
        with elsewhere.channel._lock:
            elsewhere.go.set()
            for _ in range(GROUP):
                elsewhere.intake.offer(b"3")
            elsewhere.channel.statistics()

    inside = threading.Thread(target=record_inside, daemon=True)
    inside.start()
    inside.join(_LONGEST)
    assert not inside.is_alive()
    elsewhere.thread.join(_LONGEST)
    assert elsewhere.channel.statistics().accepted == 2 * GROUP
