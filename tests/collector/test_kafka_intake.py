"""The Kafka intake beside a broker of our own: messages that cannot be written are read again, and none is passed over.
How it reads from a real broker, and every topic, is seen in tests/e2e."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from kit.kafka_log import KafkaLog
from swagent.collector.intake import kafka as kafka_intake
from swagent.collector.intake.kafka import KafkaIntake
from swagent.collector.store.database import StoreError
from swagent.collector.store.records import Record
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio
SEGMENTS = "skywalking-segments"
TOPICS = (SEGMENTS, *(f"skywalking-{each}" for each in ("logs", "meters", "managements", "profilings")))


@pytest.fixture
async def broker(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KafkaLog]:
    monkeypatch.setattr(kafka_intake, "_PAUSE", 0.01)
    running = KafkaLog(TOPICS)
    await running.start()
    yield running
    await running.stop()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(path=str(tmp_path / "store.db"))


@asynccontextmanager
async def reading(broker: KafkaLog, store: Store) -> AsyncIterator[KafkaIntake]:
    intake = KafkaIntake(store, broker.address)
    await intake.start()
    try:
        yield intake
    finally:
        await intake.stop()


def segment(number: int, size: int = 1) -> bytes:
    return bytes(wire.SegmentObject("t", f"s{number}", [wire.SpanObject(operation_name="x" * size)], "shop", "i1"))


async def kept(store: Store, count: int) -> list[str]:
    """The ids of the segments, once there are so many and the broker's offsets are committed along with them."""
    await store.wait_for(lambda store: len(store.segments) == count, timeout=10)
    return [each.segment_id for each in store.segments]


def fill(store: Store) -> None:
    """Have the disk be full: there is no room for a large segment."""
    store.read("PRAGMA max_page_count=1")


def clear(store: Store) -> None:
    store.read("PRAGMA max_page_count=100000")


@pytest.mark.gate
async def test_a_message_that_could_not_be_written_is_read_again(
    broker: KafkaLog, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "swagent.collector")
    sleep, failures, room = asyncio.sleep, [0.0], asyncio.Event()

    async def pause(seconds: float) -> None:
        if seconds == kafka_intake._PAUSE:
            failures.append(seconds)
            if len(failures) > 2:
                clear(store)
                room.set()
        await sleep(0 if seconds == kafka_intake._PAUSE else seconds)

    async with reading(broker, store) as intake:
        broker.append(SEGMENTS, segment(1))
        assert await kept(store, 1) == ["s1"]
        fill(store)
        monkeypatch.setattr(asyncio, "sleep", pause)
        broker.append(SEGMENTS, segment(2, 500_000), b"\x0a\xff", segment(3))
        await asyncio.wait_for(room.wait(), 10)
        assert await kept(store, 3) == ["s1", "s2", "s3"]
        broker.append(SEGMENTS, segment(4))
        assert await kept(store, 4) == ["s1", "s2", "s3", "s4"]
        await store.wait_for(lambda store: store.offsets(intake.brokers)[SEGMENTS, 0] == 5)
    assert store.statistics().duplicates == 0
    assert "reading from Kafka goes on" in caplog.text
    store.close()


async def test_a_store_that_cannot_be_read_either_does_not_end_it(
    broker: KafkaLog, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(broker, store):
        asked, offsets, room = list[str](), store.offsets, asyncio.Event()

        def failing(brokers: str) -> dict[tuple[str, int], int]:
            asked.append(brokers)
            if len(asked) < 3:
                raise StoreError("the disk is gone")
            clear(store)
            room.set()
            return offsets(brokers)

        monkeypatch.setattr(store, "offsets", failing)
        fill(store)
        broker.append(SEGMENTS, segment(1, 500_000))
        await asyncio.wait_for(room.wait(), 10)
        assert await kept(store, 1) == ["s1"]
    store.close()


async def test_a_message_that_another_writer_lost_is_read_again(broker: KafkaLog, store: Store) -> None:
    """Rows of all who report are written together: so a batch may be lost in part before it is read to its end."""

    def lose_the_second(record: Record) -> None:
        if store.losses:
            return
        if isinstance(record, Segment) and record.segment_id == "s1":
            fill(store)
        elif isinstance(record, Segment) and record.segment_id == "s2":
            with suppress(StoreError):
                store.commit()
            clear(store)

    unsubscribe = store.subscribe(lose_the_second)
    async with reading(broker, store):
        broker.append(SEGMENTS, segment(1), segment(2, 500_000), segment(3))
        assert sorted(await kept(store, 3)) == ["s1", "s2", "s3"]
    unsubscribe()
    assert store.losses == 1
    store.close()


@pytest.mark.parametrize(("offset", "expected"), [(1, ["s3", "s4"]), (9, ["s3", "s4"]), (3, ["s4"])])
async def test_messages_that_the_broker_has_deleted_are_passed_over_and_no_others(
    broker: KafkaLog, store: Store, offset: int, expected: list[str]
) -> None:
    """The record to be read next may be older than the log, or of a topic that was made anew since."""
    store.set_offset(broker.address, SEGMENTS, 0, offset, store.losses)
    broker.append(SEGMENTS, *(segment(number) for number in range(1, 5)))
    broker.first[SEGMENTS] = 2
    async with reading(broker, store):
        assert await kept(store, len(expected)) == expected
    store.close()


async def test_the_first_start_reads_what_is_new(broker: KafkaLog, store: Store) -> None:
    broker.append(SEGMENTS, segment(1))
    async with reading(broker, store):
        broker.append(SEGMENTS, segment(2))
        assert await kept(store, 1) == ["s2"]
    broker.append(SEGMENTS, segment(3))
    async with reading(broker, store):
        assert await kept(store, 2) == ["s2", "s3"]
    store.close()
