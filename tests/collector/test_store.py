"""Bounds, duplicates, waiting."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from swagent.collector.live import Debouncer
from swagent.collector.store.bounded_map import BoundedMap
from swagent.collector.store.records import Event, LogLine, Meter
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment

pytestmark = pytest.mark.anyio


def segment(number: int, trace: str = "t") -> Segment:
    return Segment(trace, f"s{number}", "shop", "i1", ())


def line(number: int) -> LogLine:
    return LogLine(number, "shop", "i1", "", "text", str(number), (), "")


async def test_oldest_segments_are_evicted_and_counted() -> None:
    store = Store(max_segments=3)
    for number in range(5):
        store.add(segment(number, trace=f"t{number // 2}"))
    assert [kept.segment_id for kept in store.segments] == ["s2", "s3", "s4"]
    assert store.trace_ids == ["t1", "t2"]
    assert store.trace("t0") == []
    statistics = store.statistics()
    assert (statistics.received["segments"], statistics.evicted["segments"]) == (5, 2)
    assert str(statistics).startswith("5 segments (0 duplicates, 2 evicted), ")


async def test_duplicates_are_counted_and_not_kept_twice() -> None:
    store = Store(max_segments=2)
    for number in (1, 1, 2, 3, 1):  # the last one after the first was evicted
        store.add(segment(number))
    assert [kept.segment_id for kept in store.segments] == ["s2", "s3"]
    assert store.statistics().duplicates == 2
    assert store.statistics().received["segments"] == 5


def steps_of_numbers(rows: int) -> int:
    """How many steps SQLite takes to find the first and the last number of so many rows."""
    store = Store()
    for number in range(rows):
        store.add(segment(number))
    store.commit()
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    connection = store._database._connection
    connection.set_progress_handler(step, 1)
    assert store.numbers("segments") == (0, rows)
    connection.set_progress_handler(None, 0)
    return steps


def test_the_numbers_of_many_rows_are_found_as_fast_as_those_of_few() -> None:
    """Each answer of the page asks for them, most answers several times."""
    assert steps_of_numbers(1) == steps_of_numbers(300) > 0


async def test_other_signals_are_bounded() -> None:
    store = Store(max_records=2)
    for number in range(4):
        store.add(line(number))
        store.add(Meter("shop", "i1", f"m{number % 3}", (), number, float(number)))
    assert [kept.content for kept in store.logs] == ["2", "3"]
    assert [(meter.name, meter.value) for meter in store.meters] == [("m2", 2.0), ("m0", 3.0)]
    assert store.statistics().evicted == {"logs": 2, "meters": 2}
    assert store.records(Event) == []
    with pytest.raises(ValueError, match="at least 1"):
        Store(max_segments=0)


async def test_wait_for_gives_up_and_leaves_nothing_behind() -> None:
    store = Store()
    with pytest.raises(TimeoutError, match=r"0\.01 s; received: 0 segments"):
        await store.wait_for(lambda store: False, timeout=0.01)
    task = asyncio.create_task(store.wait_for(lambda store: False))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store._arrivals._bells == []


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_wait_for_hears_of_arrivals_in_another_thread() -> None:
    store = Store()

    def report() -> None:
        for number in range(1000):
            store.add(segment(number))

    thread = threading.Thread(target=report)
    thread.start()
    await store.wait_for(lambda store: len(store.segments) == 1000)
    thread.join()


async def test_subscription_ends() -> None:
    store, heard = Store(), list[object]()
    unsubscribe = store.subscribe(heard.append)
    store.add(line(1))
    unsubscribe()
    store.add(line(2))
    assert heard == [line(1)]


@pytest.mark.gate
def test_a_record_that_falls_out_costs_the_same_however_many_there_were() -> None:
    """A second's work; where each has to pass over those before it, more than a minute's."""
    began = time.thread_time()
    bounded, resting = BoundedMap[int, None](250_000), Debouncer(1.0)
    for number in range(750_000):
        bounded.put(number, None)
    assert (len(bounded), bounded.evicted, bounded.keys()[0]) == (250_000, 500_000, 500_000)
    for number in range(300_000):
        resting.touch(str(number), 0.0)
    assert len(resting.take(2.0)) == 300_000
    assert time.thread_time() - began < 15
