"""Records go to the disk and come back, with a task on each loop."""

from __future__ import annotations

import logging

import pytest

from faults.covering import covers
from pipeline.channels import Clock, batcher_of
from pipeline.spill.disks import MemoryDisk
from pipeline.spill.movers import Process, payload, settle, spilled
from swagent.ledger import Drop, Refusal
from swagent.pipeline.spill import backlog as backlogs
from swagent.pipeline.spill.mover import REST

pytestmark = [pytest.mark.anyio, covers("D07")]


async def test_a_group_that_does_not_fit_whole_goes_behind_in_part() -> None:
    process = Process()
    async with process.running():
        process.channel.offer_many([payload(each) for each in range(8)], [0.0] * 8)
        found = process.channel.statistics()
        assert (found.queued, found.spilled) == (5, 3)
        process.channel.offer_many([payload(8), payload(9)], [0.0, 0.0])
        assert [each async for each in process.taken()] == [*range(10)]


@pytest.mark.gate
async def test_records_of_each_verdict_leave_no_file() -> None:
    async with spilled(40) as process:
        first = process.channel.lease(3, 1000)
        await process.step()
        second = process.channel.lease(2, 1000)
        second.drop(Drop.REJECTED)
        await process.step()
        third = process.channel.lease(2, 1000)
        first.confirm()
        third.drop(Drop.AMBIGUOUS)
        assert [each async for each in process.taken()] == [*range(7, 40)]
        await process.step()
        assert process.disk.own == {}
        assert process.balanced


async def test_what_is_too_large_or_comes_too_late_is_refused_as_ever() -> None:
    process = Process()
    async with process.running():
        process.offer(*range(6))
        assert not process.channel.offer(bytes(61))
        process.channel.close()
        assert not process.channel.offer(b"late")
        assert dict(process.channel.statistics().refused) == {Refusal.TOO_LARGE.value: 1, Refusal.SHUTDOWN.value: 1}


@pytest.mark.gate
async def test_a_full_disk_refuses_the_newest_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(backlogs, "STAGED_BYTES", 100)
    caplog.set_level(logging.INFO, "swagent")
    process = Process()
    process.disk.space = 200
    async with process.running():
        taken: list[int] = []
        for each in range(100):
            taken += process.offer(each)
            await settle()
        # 5 in memory, 10 that wait to be written, and what the disk has room for
        refused = dict(process.channel.statistics().refused)
        assert refused == {"full": 100 - len(taken)}
        assert taken == [*range(len(taken))]
        assert 15 < len(taken) < 25
        assert process.balanced
        assert [each.message for each in caplog.records].count(
            "segments cannot be spilled to disk for now: [Errno 28] No space left on device"
        ) == 1
        assert not process.channel.has_room_beside
        assert process.channel.fill == 1.0
        process.disk.space = 100_000
        process.clock.now += REST
        await process.step()
        assert not process.channel.backlog.staged
        assert process.offer(100) == [100]
        assert [each async for each in process.taken()] == [*taken, 100]
    assert "segments are spilled to disk" in caplog.text


@pytest.mark.gate
async def test_the_bound_refuses_the_newest_and_drops_nothing_old(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(backlogs, "STAGED_BYTES", 100)
    monkeypatch.setattr("swagent.pipeline.spill.files.FILE_BYTES", 40 + 5 * 34)
    process = Process(MemoryDisk(most_files=2))
    async with process.running():
        taken: list[int] = []
        for each in range(60):
            taken += process.offer(each)
            await settle()
        assert taken == [*range(5 + 2 * 5 + 10)]
        assert "the room of SW_AGENT_SPILL on disk is used up" in caplog.text
        assert [each async for each in process.taken()] == taken
        assert process.offer(60) == [60]
    assert process.balanced


async def test_records_that_come_back_too_late_are_dropped_as_expired() -> None:
    async with spilled(20) as process:
        process.clock.now += 61
        assert [each async for each in process.taken()] == []
        assert dict(process.channel.statistics().dropped) == {"expired": 20}
        process.offer(20)
        assert [each async for each in process.taken()] == [20]
        await process.step()
        assert process.disk.own == {}


async def test_a_file_that_cannot_be_read_is_lost_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async with spilled(10) as process:
        (name,) = process.disk.own
        process.disk.own[name][-100] ^= 1
        taken = [each async for each in process.taken()]
        assert taken == [*range(len(taken))]
        found = process.channel.statistics()
        assert found.spilled == 0
        assert dict(found.dropped) == {"internal": 10 - len(taken)}
        assert found.balanced
        assert "cannot be read: its bytes have changed" in caplog.text
        await process.step()
        assert process.disk.own == {}


@pytest.mark.parametrize("broken", ["read", "mark"])
async def test_nothing_is_sent_whose_lease_cannot_be_written(broken: str) -> None:
    async with spilled(10) as process:
        process.disk.broken = {broken}
        assert [each async for each in process.taken()] == [*range(5)]
        assert dict(process.channel.statistics().dropped) == {}
        for _ in range(5):
            process.clock.now += REST
            await process.step()
        assert dict(process.channel.statistics().dropped) == {"internal": 5}


@pytest.mark.parametrize("broken", ["read", "mark"])
async def test_a_disk_that_fails_for_a_moment_loses_nothing(broken: str) -> None:
    async with spilled(10) as process:
        process.disk.broken = {broken}
        assert [each async for each in process.taken()] == [*range(5)]
        process.disk.broken = set()
        process.offer(10)
        assert [each async for each in process.taken()] == [], "in order"
        process.clock.now += REST
        assert [each async for each in process.taken()] == [*range(5, 11)]
    assert process.balanced


async def test_a_file_that_cannot_be_removed_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async with spilled(10) as process:
        process.disk.broken = {"remove"}
        assert [each async for each in process.taken()] == [*range(10)]
        await process.step()
        assert "cannot be removed" in caplog.text
    assert process.balanced


async def test_a_file_that_is_done_while_another_is_removed_is_removed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    removed: list[str] = []

    def remove(name: str) -> None:
        if not removed:
            # as a verdict that comes meanwhile
            process.channel.backlog.done.append("second")
        removed.append(name)

    monkeypatch.setattr(process.disk, "remove", remove)
    async with process.running():
        process.channel.backlog.done.append("first")
        await process.step()
        assert removed == ["first", "second"]


async def test_a_flush_waits_for_what_is_on_disk() -> None:
    async with spilled(10) as process:
        channel = process.channel
        assert not channel.is_settled(10)
        channel.lease(5, 1000).confirm()
        assert channel.is_settled(5)
        assert not channel.is_settled(6)
        assert [each async for each in process.taken()] == [*range(5, 10)]
        assert channel.is_settled(10)


async def test_what_is_left_at_the_end_is_sent_by_the_next_process() -> None:
    first = Process(clock=Clock(1000.0))
    async with first.running():
        first.offer(*range(20))
    # the rest was written at the end, though there was no turn for it before
    first.channel.close()
    first.channel.drop_queued(Drop.SHUTDOWN)
    first.spill.close()
    found = first.channel.statistics()
    assert found.balanced
    assert (found.spilled, dict(found.dropped)) == (15, {"shutdown": 5})
    assert "on disk 15" in str(found)

    second = Process(first.disk.after_death(), Clock(0.0))
    async with second.running():
        # nothing but the find itself has to set it going
        assert second.channel.statistics().queued == 5
        assert [each async for each in second.taken()] == [*range(5, 20)]
        found = second.channel.statistics()
        assert (found.offered, found.recovered, found.confirmed) == (15, 15, 15)


async def test_leased_records_of_a_process_that_ended_well_are_counted_by_it_alone() -> None:
    first = Process()
    async with first.running():
        first.offer(*range(20))
        await settle()
        first.channel.lease(5, 1000).confirm()
        await first.step()
        first.channel.lease(3, 1000).confirm()
        await first.step()
    first.channel.drop_queued(Drop.SHUTDOWN)
    left = first.channel.statistics()
    second = Process(first.disk.after_death())
    async with second.running():
        found = second.channel.statistics()
        assert (found.recovered, dict(found.dropped)) == (left.spilled, {})


@pytest.mark.parametrize("cut", range(0, 75, 3))
async def test_a_torn_end_is_cut_and_the_rest_is_sent(cut: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "swagent")
    first = Process()
    async with first.running():
        first.offer(*range(10))
    (data,) = first.disk.own.values()
    del data[len(data) - cut :]
    whole, torn = (len(data) - 40) // 34, (len(data) - 40) % 34
    second = Process(first.disk.after_death())
    async with second.running():
        assert [each async for each in second.taken()] == [*range(5, 5 + whole)]
        assert second.channel.statistics().recovered == whole
        assert f"took over {whole} records from disk, 0 of unknown fate, and {torn} bytes of torn ones" in caplog.text
        await second.step()
        assert second.disk.own == {}


@pytest.mark.parametrize("size", [0, 39])
async def test_a_file_without_a_whole_head_is_removed(size: int) -> None:
    first = Process()
    async with first.running():
        first.offer(*range(10))
    (data,) = first.disk.own.values()
    del data[size:]
    second = Process(first.disk.after_death())
    async with second.running():
        assert second.disk.own == {}
        assert second.offer(*range(5)) == [*range(5)]
        assert second.channel.statistics().recovered == 0


async def test_times_survive_the_change_of_process() -> None:
    first = Process(clock=Clock(5000.0))
    async with first.running():
        first.offer(*range(20))
        await settle()
    # a clock of another process, 50 s later by the clock on the wall, which is WALL plus its own
    second = Process(first.disk.after_death(), Clock(5050.0))
    async with second.running():
        assert second.channel.statistics().dropped.get("expired", 0) == 0
        second.clock.now += 11
        assert [each async for each in second.taken()] == []
        assert second.channel.statistics().dropped["expired"] == 15


async def test_a_stop_without_a_collector_ends_the_reader_and_leaves_the_rest_on_disk() -> None:
    async with spilled(20) as process:
        process.channel.close()
        process.channel.drop_queued(Drop.SHUTDOWN)
        await process.step()
        assert process.channel._until_due(batcher_of(process.channel)) is None
        assert process.channel.statistics().spilled == 15


async def test_a_reader_of_a_closed_channel_waits_for_what_is_on_disk() -> None:
    async with spilled(20) as process:
        process.channel.close()
        process.disk.broken = {"create"}
        process.channel.lease(5, 1000).confirm()
        assert process.channel._until_due(batcher_of(process.channel)) is not None
        assert [each async for each in process.taken()] == [*range(5, 20)]
        assert process.channel._until_due(batcher_of(process.channel)) is None


async def test_a_spill_that_was_given_up_refuses_as_ever() -> None:
    process = Process()
    process.disk.broken = {"create"}
    async with process.running():
        process.offer(*range(10))
        await settle()
        process.spill.give_up()
        assert dict(process.channel.statistics().dropped) == {"internal": 5}
        assert process.offer(10) == []
        assert [each async for each in process.taken()] == [*range(5)]
        assert process.offer(11) == [11]
        assert process.balanced
