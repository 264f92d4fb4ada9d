"""aiokafka: from the producer to the consumer through a real broker, and what a broker need not be there for."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from zlib import crc32

import pytest

from kit.real.kafka import Kafka
from record.recorded import Recorder
from swagent import current_span, exit_span, local_span
from swagent.messages import consume
from swagent.record.suppression import suppress_instrumentation
from swagent.record.trace.carrier import parse_sw8

from .joins import joins
from .loops import anyio_backend  # noqa: F401
from .trees import trees
from .watcher import Watcher

aiokafka = pytest.importorskip("aiokafka")
batch = pytest.importorskip("aiokafka.record.default_records")

pytestmark = pytest.mark.anyio
INSTRUMENTED = ("aiokafka",)
AGAINST = "a real Kafka"
BROKER = "a.test:9092;b.test:9092"
real_broker = [pytest.mark.e2e, pytest.mark.timeout(600)]


class Broker:
    """Replaces the queue of aiokafka's producer, and that from which its consumer takes."""

    def __init__(self) -> None:
        self.headers: list[dict[str, bytes]] = []
        self.deliveries: list[asyncio.Future[Any]] = []
        self.records: list[Any] = []
        self.version = (3, 9)

    async def know_topic(self, topic: str) -> None:
        pass

    async def add_message(self, tp: Any, key: Any, value: Any, timeout: float, *, headers: Any, **_: Any) -> Any:
        # as the queue does; newer producers do it before
        batch.DefaultRecordBatchBuilder.size_of(key, value, headers)
        self.headers.append(dict(headers))
        self.deliveries.append(asyncio.get_running_loop().create_future())
        return self.deliveries[-1]

    async def next_record(self, partitions: Any) -> Any:
        assert current_span() is None, "the last message is done before the next one is waited for"
        return self.records.pop(0)

    async def fetched_records(self, partitions: Any, timeout: float, max_records: int) -> Any:
        records, self.records = self.records, []
        return {aiokafka.TopicPartition("orders", 0): records} if records else {}

    def producer(self) -> Any:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=["a.test:9092", "b.test:9092"])
        producer.client._wait_on_metadata = self.know_topic
        producer._partition = lambda *_: 0
        producer._message_accumulator.add_message = self.add_message
        # as the start finds out, until aiokafka 0.12
        producer.client._api_version = self.version
        producer._producer_magic = 2
        producer._closed = True  # a producer that never began need not be closed
        return producer

    def consumer(self, *records: Any) -> Any:
        self.records.extend(records)
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers="a.test:9092, b.test:9092", group_id="shop")
        consumer._closed = 0  # open, without the warning of one that was never closed
        consumer._fetcher = self
        consumer._coordinator = Coordinator()
        return consumer


class Coordinator:
    def check_errors(self) -> None:
        pass


def record(headers: Any = (), timestamp: int = -1) -> Any:
    return aiokafka.ConsumerRecord("orders", 0, 0, timestamp, 0, None, b"", None, 0, 0, tuple(headers))


@pytest.fixture
def broker() -> Broker:
    return Broker()


async def test_a_message_carries_the_context_and_its_span_lasts_until_it_is_acknowledged(
    recorder: Recorder, broker: Broker
) -> None:
    own = [("tenant", b"acme")]
    with local_span("job"):
        await broker.producer().send("orders", b"1", headers=own)
        with local_span("work"):
            pass
    assert recorder.names == []
    broker.deliveries[0].set_result(None)
    await asyncio.sleep(0)
    assert trees(recorder) == (
        f"Local job\n  Exit Kafka/orders/Producer KAFKA_PRODUCER/MQ {BROKER} mq.broker={BROKER} mq.topic=orders\n"
        "  Local work"
    )
    assert own == [("tenant", b"acme")]
    assert broker.headers[0]["tenant"] == b"acme"
    carrier = parse_sw8(broker.headers[0]["sw8"])
    assert carrier is not None
    assert (carrier.trace_id, carrier.segment_id) == (recorder.only.trace_id, recorder.only.id)
    assert (carrier.span_id, carrier.address) == (1, BROKER)


async def test_messages_are_shown(recorder: Recorder, broker: Broker, watcher: Watcher) -> None:
    watcher.watch("aiokafka")
    own = [("tenant", b"acme")]
    await broker.producer().send("orders", b"1", b"key", headers=own)
    broker.deliveries[0].set_result(None)
    await asyncio.sleep(0)
    first, second = record(), record()
    consumer = broker.consumer(first, second)
    assert await consumer.getone() is first
    batches = await consumer.getmany()
    assert await consumer.getmany() == {}
    assert watcher.requests == [("Kafka/orders/Producer", ("orders", b"1", b"key", own))]
    assert watcher.responses == [("Kafka/orders/Consumer/shop", first), ("Kafka/orders/Consumer/shop", batches)]
    assert not watcher.has_seen_ended
    assert recorder.names == [["Kafka/orders/Producer"], *[["Kafka/orders/Consumer/shop"]] * 2]
    assert not any(segment.spans[0].failed for segment in recorder.segments)


async def test_a_delivery_that_fails_later_shows_and_is_still_the_application_s(
    recorder: Recorder, broker: Broker
) -> None:
    said: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context["message"]))
    await broker.producer().send("orders", b"1")
    broker.deliveries.pop().set_exception(LookupError("no such partition"))
    await asyncio.sleep(0)
    assert recorder.span("Kafka/orders/Producer").failed
    assert said == ["Future exception was never retrieved"]


async def test_a_caller_that_gives_up_waiting_cancels(recorder: Recorder, broker: Broker) -> None:
    waiting = asyncio.ensure_future(broker.producer().send_and_wait("orders", b"1"))
    await asyncio.sleep(0)
    assert broker.deliveries
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    span = recorder.span("Kafka/orders/Producer")
    assert dict(span.tags)["outcome"] == "cancelled"
    assert not span.failed


async def test_headers_of_the_application_stay_and_a_call_inside_a_call_carries_the_outer_one(
    recorder: Recorder, broker: Broker
) -> None:
    with exit_span("by hand", "a.test:9092"):
        await broker.producer().send("orders", b"1")
        await broker.producer().send("orders", b"1", headers=[("sw8", b"mine")])
    assert recorder.names == [["by hand"]]
    carrier = parse_sw8(broker.headers[0]["sw8"])
    assert carrier is not None
    assert carrier.segment_id == recorder.only.id
    assert broker.headers[1] == {"sw8": b"mine"}


@pytest.mark.parametrize("headers", ["ab", (("x", b"1"),)])
async def test_headers_that_are_no_list_are_refused_as_what_they_are(
    recorder: Recorder, broker: Broker, headers: Any
) -> None:
    with pytest.raises(TypeError, match=f"Expected list, got {type(headers).__name__}"):
        await broker.producer().send("orders", b"1", headers=headers)
    assert recorder.span("Kafka/orders/Producer").failed


async def test_an_old_broker_gets_no_headers(recorder: Recorder, broker: Broker) -> None:
    broker.version = (0, 10)
    await broker.producer().send("orders", b"1")
    assert broker.headers == [{}]


async def test_the_agent_s_own_messages_are_not_recorded(recorder: Recorder, broker: Broker) -> None:
    token = suppress_instrumentation.set(True)
    try:
        await broker.producer().send("skywalking-segments", b"1")
    finally:
        suppress_instrumentation.reset(token)
    assert recorder.names == []
    assert broker.headers == [{}]


async def test_a_message_s_span_ends_when_the_next_is_asked_for_and_when_the_loop_is_left(
    recorder: Recorder, broker: Broker
) -> None:
    count = 0
    async for _ in broker.consumer(record(), record(), record()):
        with local_span(f"work {count}"):
            assert len(recorder.names) == count
        count += 1
        if count == 2:
            break
    assert current_span() is None
    assert trees(recorder) == "\n".join(
        f"Entry Kafka/orders/Consumer/shop KAFKA_CONSUMER/MQ mq.broker={BROKER} mq.topic=orders\n  Local work {number}"
        for number in range(2)
    )


async def test_a_consumer_that_is_let_go_ends_its_last_span(recorder: Recorder, broker: Broker) -> None:
    consumer = broker.consumer(record())
    await consumer.getone()
    assert current_span() is not None
    del consumer
    gc.collect()
    assert recorder.names == [["Kafka/orders/Consumer/shop"]]


async def test_a_batch_says_how_long_its_oldest_record_was_on_its_way(recorder: Recorder, broker: Broker) -> None:
    consumer = broker.consumer(record(), record(timestamp=1_700_000_000_000), record(timestamp=4_000_000_000_000))
    await consumer.getmany()
    assert await consumer.getmany() == {}
    assert current_span() is None
    latency = int(dict(recorder.only.spans[0].tags)["transmission.latency"])
    assert latency >= 3_600_000, "it was sent years ago"


async def test_spans_that_are_opened_by_hand_are_the_only_ones(recorder: Recorder, broker: Broker) -> None:
    consumer = broker.consumer(record(), record())
    async for _ in consume(consumer, name="jobs"):
        if not broker.records:
            break
    assert recorder.names == [["jobs"]] * 2
    broker.records.append(record())
    await consumer.getone()
    assert current_span() is not None, "afterwards it is as before"


# -- with a broker ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _consumer(kafka: Kafka, topic: str) -> AsyncIterator[Any]:
    consumer = aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=kafka.address, group_id=topic, auto_offset_reset="earliest"
    )
    async with consumer:
        yield consumer


@pytest.fixture
async def producer(kafka: Kafka) -> AsyncIterator[Any]:
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=kafka.address) as producer:
        yield producer


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, of the same name in every run."""
    return f"orders-{crc32(request.node.nodeid.encode()):08x}"


class TestThroughARealBroker:
    pytestmark = real_broker

    async def test_a_batch_that_is_sent_at_once_carries_what_was_active_as_it_was_written(
        self, recorder: Recorder, kafka: Kafka, producer: Any, topic: str
    ) -> None:
        producer.create_batch().append(key=None, value=b"0", timestamp=None)
        with local_span("job"):
            batch = producer.create_batch()
            batch.append(key=None, value=b"1", timestamp=None)
            await (await producer.send_batch(batch, topic, partition=0))
        async with _consumer(kafka, topic) as consumer:
            await consumer.getone()
        assert recorder.names == [["job", f"Kafka/{topic}/Producer"], [f"Kafka/{topic}/Consumer/{topic}"]]
        assert joins(recorder) == [f"Kafka/{topic}/Consumer/{topic} <- job"]
