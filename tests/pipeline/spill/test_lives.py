"""Random histories of processes that follow each other on one disk, each of them ended or killed at any byte.

No record is sent twice, each process sends in the order of the offers, and the ledgers account for all of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.channels import BOUNDS
from pipeline.spill.disks import Killed, MemoryDisk
from pipeline.spill.movers import Process, number
from swagent.ledger import Drop
from swagent.pipeline.channel import Lease
from swagent.pipeline.spill import files

Action = tuple[str, int]
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["offer", "offer", "offer", "step", "step", "lease", "lease", "confirm", "drop", "release"]),
        st.integers(1, 12),
    ),
    max_size=60,
)
LIVES = st.lists(st.tuples(ACTIONS, st.none() | st.integers(0, 3000)), min_size=1, max_size=4)


class Histories:
    """What the collector got of all processes, and what became of the rest."""

    def __init__(self) -> None:
        self.made = 0
        self.sent: list[int] = []  # bytes of them may have left
        self.accepted = self.accounted = 0

    def live(self, process: Process, actions: list[Action]) -> None:
        """One life, up to its end; a death gets out."""
        leases: list[Lease] = []
        sent: list[int] = []
        at_once(process.spill._take_over())
        for what, count in actions:
            if what == "offer":
                self.accepted += len(process.offer(*range(self.made, self.made + count)))
                self.made += count
            elif what == "step":
                self.steps(process, count)
            elif what == "lease":
                leases += [process.channel.lease(count, 1000)]
            elif leases:
                lease = leases.pop(count % len(leases))
                if what == "release":
                    lease.release()
                    continue
                # it is sent before there is a verdict, and a death in between is the worst case
                sent += [number(each) for each in lease.records]
                self.sent += [number(each) for each in lease.records]
                lease.confirm() if what == "confirm" else lease.drop(Drop.AMBIGUOUS)
            assert process.balanced
        self.end(process, leases)

    def steps(self, process: Process, count: int) -> None:
        while count and at_once(process.movers[0]._step()):
            count -= 1

    def end(self, process: Process, leases: list[Lease]) -> None:
        """The agent stops: what is under way may have been sent."""
        for lease in leases:
            self.sent += [number(each) for each in lease.records]
            lease.drop(Drop.AMBIGUOUS)
        process.channel.close()
        process.channel.drop_queued(Drop.SHUTDOWN)
        process.movers[0]._is_over = True
        at_once(process.movers[0]._live())
        process.spill.close()
        found = process.channel.statistics()
        assert found.balanced
        assert found.queued == found.in_flight == 0
        self.accounted += found.confirmed + sum(found.dropped.values())


def at_once(coroutine: Awaitable[Any]) -> Any:
    """Run what never waits."""
    steps = coroutine.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def sent_from_disk(process: Process, most: int) -> list[int]:
    """The records that a process takes over and sends, up to so many batches."""
    at_once(process.spill._take_over())
    sent: list[int] = []
    for _ in range(most):
        at_once(process.movers[0]._step())
        lease = process.channel.lease(3, 1000)
        sent += [number(each) for each in lease.records]
        lease.confirm()
    return sent


@pytest.fixture(autouse=True, scope="module")
def small_files() -> Generator[None]:
    """So that there are several, with a few records each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "FILE_BYTES", 40 + 34 * 4)
        yield


@pytest.mark.gate
@settings(max_examples=100, deadline=None, database=None)
@given(LIVES)
def test_no_record_is_sent_twice_and_none_vanishes(lives: list[tuple[list[Action], int | None]]) -> None:
    history, disk, was_killed = Histories(), MemoryDisk(), False
    for actions, left in [*lives, ([("step", 100), ("lease", 12), ("confirm", 0)] * 60, None)]:
        process = Process(disk, bounds=BOUNDS)
        disk.left = left
        try:
            history.live(process, actions)
        except Killed:
            was_killed = True
        disk = disk.after_death()
    assert len(history.sent) == len(set(history.sent))
    assert all(each < history.made for each in history.sent)
    if not was_killed:
        assert history.accounted == history.accepted


def test_what_comes_while_files_are_read_is_written_in_turns() -> None:
    process = Process()
    process.offer(*range(100))
    (mover,) = process.movers
    while process.channel.backlog.staged:
        assert at_once(mover._step())
    taken: list[int] = []
    for each in range(100, 140):
        process.offer(each)
        assert at_once(mover._step())
        lease = process.channel.lease(5, 1000)
        taken += [number(record) for record in lease.records]
        lease.confirm()
        assert len(process.channel.backlog.staged) <= 5
    assert taken == [*range(len(taken))]
    assert process.channel.backlog.files


@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(6, 60), st.integers(0, 60), st.integers(0, 4000))
def test_after_a_death_at_any_byte_the_rest_comes_in_order(count: int, rounds: int, left: int) -> None:
    first = Process()
    first.disk.left = left
    sent: list[int] = []
    try:
        for each in range(count):
            first.offer(each)
            at_once(first.movers[0]._step())
        for _ in range(rounds):
            lease = first.channel.lease(2, 1000)
            sent += [number(each) for each in lease.records]
            lease.confirm()
            at_once(first.movers[0]._step())
    except Killed:
        pass
    second = Process(first.disk.after_death())
    again = sent_from_disk(second, count)
    assert again == sorted(set(again) - set(sent))
    found = second.channel.statistics()
    assert found.balanced
    assert found.recovered == found.confirmed + found.dropped.get("ambiguous", 0)
    assert second.channel.backlog.count == 0


@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(6, 60), st.lists(st.integers(0, 12), max_size=3))
def test_after_deaths_amid_taking_over_the_rest_comes_in_order(count: int, taken: list[int]) -> None:
    """Each of these processes takes so many files and dies: then files of one process are in several folders."""
    process = Process()
    process.offer(*range(count))
    while process.channel.backlog.staged and process.channel.room_for_return():
        at_once(process.movers[0]._step())
    while process.channel.backlog.staged:
        assert at_once(process.movers[0]._write())
    waiting = process.channel.backlog.count
    for left in taken:
        process = Process(process.disk.after_death())
        process.disk.left = left
        with suppress(Killed):
            at_once(process.spill._take_over())
    found = sent_from_disk(Process(process.disk.after_death()), count)
    assert found == [*range(count - waiting, count)]
