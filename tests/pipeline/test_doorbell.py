"""The reader's side of the channel: what it waits for, and who wakes it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import sniffio
from anyio.lowlevel import checkpoint

from pipeline.channels import AMPLE, batcher_of, channel_of, fill
from runtime.worlds import ASYNCIO, ASYNCIO_IDS
from swagent.backend import loop_notifier
from swagent.pipeline.batcher import Batcher
from swagent.pipeline.channel import Channel

pytestmark = pytest.mark.anyio

PATIENT: dict[str, Any] = {"batch_delay": 3600.0}
Attach = Callable[[Channel], Channel]


@pytest.fixture
def attached() -> Iterator[Attach]:
    """Hangs a channel's doorbell at the running loop, until the test ends."""
    channels: list[Channel] = []

    def attach(channel: Channel) -> Channel:
        channel.attach(loop_notifier())
        channels.append(channel)
        return channel

    yield attach
    for channel in channels:
        channel.attach(None)


class Reader:
    """Waits for one batch beside the test."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.answer: bool | None = None

    async def run(self) -> None:
        self.answer = await self.channel.wait_due(batcher_of(self.channel))


@asynccontextmanager
async def reading(channel: Channel, *, is_woken: bool = True) -> AsyncIterator[Reader]:
    """A reader that waits beside the block. It comes back in it, or is cancelled behind it if nothing is to wake it."""
    reader = Reader(channel)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(reader.run)
            await anyio.wait_all_tasks_blocked()
            yield reader
            if not is_woken:
                await anyio.wait_all_tasks_blocked()
                assert reader.answer is None
                group.cancel_scope.cancel()


async def offer_from_a_thread(channel: Channel, *records: bytes) -> None:
    await anyio.to_thread.run_sync(fill, channel, *records)


@pytest.mark.parametrize("record", [b"1", b""], ids=["a record", "one without bytes"])
async def test_a_parked_reader_wakes_at_the_first_record(attached: Attach, record: bytes) -> None:
    channel = attached(channel_of(batch_delay=0.0))
    async with reading(channel) as reader:
        assert reader.answer is None
        await offer_from_a_thread(channel, record)
    assert reader.answer is True


@pytest.mark.parametrize(
    ("bounds", "most", "last"),
    [({"batch_items": 3}, [b"1", b"2"], b"3"), ({"batch_items": 100, "batch_bytes": 40}, [b"x" * 39], b"x")],
    ids=["items", "bytes"],
)
async def test_the_reader_waits_for_a_full_batch(attached: Attach, bounds: Any, most: list[bytes], last: bytes) -> None:
    channel = attached(channel_of(**bounds, **PATIENT))
    async with reading(channel) as reader:
        await offer_from_a_thread(channel, *most)
        await anyio.wait_all_tasks_blocked()
        assert reader.answer is None
        await offer_from_a_thread(channel, last)
    assert reader.answer is True


async def test_records_that_the_reader_pulls_in_itself_do_not_wake_it(attached: Attach) -> None:
    """Under load something is pending at each look: a reader that rang for itself would look at every turn."""
    channel = attached(channel_of(batch_items=100, **PATIENT))
    fill(channel, b"1")
    pending, looks = [b"2", b"3", b"4"], 0

    def pull(_: bool) -> None:
        nonlocal looks
        looks += 1
        if pending:
            channel.offer_many([pending.pop()], [0.0])

    channel.add_source(pull)
    async with reading(channel, is_woken=False):
        assert looks == 1


async def test_records_in_flight_do_not_fill_the_next_batch(attached: Attach) -> None:
    channel = attached(channel_of(batch_items=3, **PATIENT))
    fill(channel, b"1", b"2")
    channel.lease(2, 1000)
    fill(channel, b"3")
    async with reading(channel, is_woken=False):
        pass


async def test_hurry_makes_the_next_batch_due_at_once_and_no_later_one(attached: Attach) -> None:
    channel = attached(channel_of(**PATIENT))
    fill(channel, b"1", b"2")
    async with reading(channel):
        channel.request_flush()
    channel.lease(10, 1000).confirm()
    fill(channel, b"3")
    async with reading(channel, is_woken=False):
        pass


@pytest.mark.parametrize("records", [[], [b"1"]], ids=["empty", "holding"])
async def test_closing_wakes_the_reader_and_says_what_is_left(attached: Attach, records: list[bytes]) -> None:
    channel = attached(channel_of(**PATIENT))
    fill(channel, *records)
    async with reading(channel) as reader:
        channel.close()
    assert reader.answer is bool(records)


async def test_released_records_wake_the_reader(attached: Attach) -> None:
    channel = attached(channel_of(batch_items=1, **PATIENT))
    fill(channel, b"1")
    lease = channel.lease(1, 1000)
    async with reading(channel) as reader:
        lease.release()
    assert reader.answer is True


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=ASYNCIO_IDS)
async def test_native_cancellation_of_the_reader_loses_nothing(attached: Attach) -> None:
    channel = attached(channel_of(**AMPLE, batch_items=1))
    reading = asyncio.ensure_future(channel.wait_due(batcher_of(channel)))
    await anyio.wait_all_tasks_blocked()
    channel.offer(b"1")
    await checkpoint()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    with anyio.fail_after(5):
        assert await channel.wait_due(batcher_of(channel))
    assert channel.lease(10, 1000).records == [b"1"]


async def read_all(channel: Channel, expected: int) -> list[bytes]:
    batcher = Batcher(max_items=512, max_bytes=1 << 20, max_delay=0.01)
    read: list[bytes] = []
    while len(read) < expected and await channel.wait_due(batcher):
        lease = channel.lease(512, 1 << 20)
        read += lease.records
        lease.confirm()
    return read


async def test_offers_from_eight_threads_lose_nothing_and_keep_each_threads_order(attached: Attach) -> None:
    channel = attached(channel_of(**AMPLE))
    channel.clock = time.monotonic
    each = 2_000
    start = threading.Barrier(8)

    def produce(thread: int) -> None:
        start.wait()
        for number in range(each):
            assert channel.offer(b"%d %d" % (thread, number))

    # eight threads of their own, the loop's pool may be smaller
    threads = [threading.Thread(target=produce, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    with anyio.fail_after(20):
        read = await read_all(channel, 8 * each)
    for thread in threads:
        thread.join()
    for number in range(8):
        mine = [record for record in read if record.startswith(b"%d " % number)]
        assert mine == [b"%d %d" % (number, index) for index in range(each)]
    assert channel.statistics().balanced
    assert channel.statistics().confirmed == 8 * each


async def test_a_record_offered_after_the_loop_has_ended_is_taken_in_and_waits(attached: Attach) -> None:
    channel = channel_of()

    def live_once() -> None:
        async def attach() -> None:
            attached(channel)
            with anyio.move_on_after(0):
                await channel.wait_due(batcher_of(channel))

        anyio.run(attach, backend=library)

    library = sniffio.current_async_library()
    await anyio.to_thread.run_sync(live_once)
    fill(channel, b"1")
    channel.attach(None)
    fill(channel, b"2")
    assert channel.statistics().queued == 2
