"""kafka-python and confluent-kafka: the same way through a real broker."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import pytest

from kit.real.kafka import Kafka
from kit.servers import dead_address
from record.recorded import Recorder
from swagent import current_span, exit_span, local_span
from swagent.record.suppression import suppress_instrumentation

from .joins import joins
from .trees import trees
from .watcher import Watcher

kafka_python: Any = pytest.importorskip("kafka")
confluent: Any = pytest.importorskip("confluent_kafka")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
LATENCY = "transmission.latency=…"
INSTRUMENTED = ("confluent-kafka", "kafka-python")
AGAINST = "a real Kafka"
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")
_SECONDS = 60


def _patient(client: Any) -> dict[str, Any]:
    """Old versions of kafka-python give a broker two seconds to answer for the first time."""
    name = "api_version_auto_timeout_ms"
    return {name: _SECONDS * 1000} if name in client.DEFAULT_CONFIG else {}


def _producer(address: str) -> Any:
    """It tries again while a topic that was just made has no leader yet; old versions do not by default."""
    producer = kafka_python.KafkaProducer
    return producer(bootstrap_servers=[address], retries=1_000, **_patient(producer))


class KafkaPython:
    """Sends and fetches by kafka-python."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._producer = _producer(address)

    def send(self, topic: str, headers: Any = None) -> None:
        self._producer.send(topic, b"1", headers=headers).get(_SECONDS)

    def close(self) -> None:
        self._producer.close()

    @contextmanager
    def consumer(self, topic: str) -> Iterator[Any]:
        consumer = kafka_python.KafkaConsumer(
            topic,
            bootstrap_servers=self._address,
            group_id=topic,
            auto_offset_reset="earliest",
            **_patient(kafka_python.KafkaConsumer),
        )
        try:
            yield consumer
        finally:
            consumer.close()

    def fetch(self, consumer: Any) -> Any:
        return next(consumer).headers

    def fetch_many(self, consumer: Any) -> int:
        return sum(map(len, consumer.poll(1000).values()))


class Confluent:
    """Sends and fetches by confluent-kafka."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._producer = confluent.Producer({"bootstrap.servers": address})

    def send(self, topic: str, headers: Any = None) -> None:
        said: list[Any] = []
        self._producer.produce(topic, b"1", headers=headers or {}, on_delivery=lambda error, _: said.append(error))
        assert self._producer.flush(_SECONDS) == 0
        assert said == [None], "the application hears of it, too"

    def close(self) -> None:
        self._producer.flush(_SECONDS)

    @contextmanager
    def consumer(self, topic: str) -> Iterator[Any]:
        consumer = confluent.Consumer(
            {"bootstrap.servers": self._address, "group.id": topic, "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([topic])
        try:
            yield consumer
        finally:
            consumer.close()

    def fetch(self, consumer: Any) -> Any:
        deadline = time.monotonic() + _SECONDS
        while (message := consumer.poll(1)) is None or message.error() is not None:
            assert time.monotonic() < deadline
        return message.headers()

    def fetch_many(self, consumer: Any) -> int:
        return len([message for message in consumer.consume(3, 1) if message.error() is None])


@pytest.fixture(params=[KafkaPython, Confluent])
def client(request: pytest.FixtureRequest, kafka: Kafka) -> Iterator[Any]:
    client = request.param(kafka.address)
    yield client
    client.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, of the same name in every run."""
    return f"orders-{crc32(request.node.nodeid.encode()):08x}"


_library = ""


@pytest.fixture(autouse=True)
def _choose_library(request: pytest.FixtureRequest) -> None:
    """The one that a test is about."""
    global _library  # noqa: PLW0603, RUF100
    name: str = request.node.nodeid
    is_python = "KafkaPython" in name or "of_kafka_python" in name
    _library = "kafka-python" if is_python else "confluent-kafka"


def collected_by(span: Any) -> str:
    """They have names and components in common."""
    return _library


def test_messages_are_shown_also_by_clients_that_are_there(
    recorder: Recorder, client: Any, topic: str, watcher: Watcher
) -> None:
    with client.consumer(topic) as consumer:
        watcher.watch(_library)
        client.send(topic, [("tenant", b"acme")])
        assert dict(client.fetch(consumer))["tenant"] == b"acme"
    (name, sent), *others = watcher.requests
    assert not others
    assert (name, sent.topic, sent.value) == (f"Kafka/{topic}/Producer", topic, b"1")
    assert sent.headers == [("tenant", b"acme")]
    (name, message), *others = watcher.responses
    assert not others
    assert name == f"Kafka/{topic}/Consumer/{topic}"
    value = message.value() if callable(message.value) else message.value
    assert value == b"1"
    assert not watcher.has_seen_ended
    assert not any(span.failed for segment in recorder.segments for span in segment.spans)


def test_each_message_joins_its_producer_s_trace(recorder: Recorder, kafka: Kafka, client: Any, topic: str) -> None:
    own = [("tenant", b"acme")]
    for number in range(2):
        with local_span(f"job {number}"):
            client.send(topic, own)
    assert own == [("tenant", b"acme")]
    with client.consumer(topic) as consumer:
        for number in range(2):
            assert client.fetch(consumer)[0] == ("tenant", b"acme")
            with local_span(f"work {number}"):
                pass
    assert current_span() is None
    broker = f"mq.broker={kafka.address} mq.topic={topic}"
    assert trees(recorder) == "\n".join([
        *(f"Local job {number}\n  Exit Kafka/{topic}/Producer KAFKA_PRODUCER/MQ {kafka.address} {broker}"
          for number in range(2)),
        *(f"Entry Kafka/{topic}/Consumer/{topic} KAFKA_CONSUMER/MQ {broker} {LATENCY}\n  Local work {number}"
          for number in range(2)),
    ])  # fmt: skip
    assert joins(recorder) == [f"Kafka/{topic}/Consumer/{topic} <- Kafka/{topic}/Producer"] * 2


def test_a_batch_refers_to_each_producer(recorder: Recorder, client: Any, topic: str) -> None:
    for _ in range(3):
        client.send(topic)
    count = 0
    deadline = time.monotonic() + _SECONDS
    with client.consumer(topic) as consumer:
        while count < 3:
            count += client.fetch_many(consumer)
            assert time.monotonic() < deadline
    assert joins(recorder) == [f"Kafka/{topic}/Consumer/{topic} <- Kafka/{topic}/Producer"] * 3


def test_headers_of_the_application_stay(recorder: Recorder, client: Any, topic: str) -> None:
    with exit_span("by hand", "kafka.test:9092"):
        client.send(topic, [("sw8", b"mine")])
        client.send(topic)
    with client.consumer(topic) as consumer:
        assert client.fetch(consumer) == [("sw8", b"mine")]
        assert "sw8" in dict(client.fetch(consumer))
    assert joins(recorder) == [f"Kafka/{topic}/Consumer/{topic} <- by hand"]


def test_a_loop_of_kafka_python_that_is_left_ends_the_last_message_s_span(
    recorder: Recorder, kafka: Kafka, topic: str
) -> None:
    client = KafkaPython(kafka.address)
    client.send(topic)
    with client.consumer(topic) as consumer:
        for _ in consumer:
            break
        assert current_span() is None
        assert f"Kafka/{topic}/Consumer/{topic}" in recorder.names[-1]
    client.close()


def test_a_failed_send_of_kafka_python_shows(recorder: Recorder, kafka: Kafka, topic: str) -> None:
    producer = _producer(kafka.address)
    with pytest.raises(kafka_python.errors.MessageSizeTooLargeError):
        producer.send(topic, b"1" * 2_000_000).get(_SECONDS)
    producer.close()
    assert recorder.span(f"Kafka/{topic}/Producer").failed


def test_a_failed_send_of_confluent_kafka_shows(recorder: Recorder, kafka: Kafka, topic: str) -> None:
    producer = confluent.Producer({"bootstrap.servers": kafka.address})
    with pytest.raises(confluent.KafkaException):
        producer.produce(topic, b"1" * 2_000_000)
    assert recorder.span(f"Kafka/{topic}/Producer").failed


@pytest.mark.parametrize("kind", ["Producer", "SerializingProducer"])
def test_the_report_of_deliveries_in_a_producer_s_settings_is_called(
    recorder: Recorder, kafka: Kafka, topic: str, kind: str
) -> None:
    said: list[tuple[str, object, bytes]] = []
    of_all = {"on_delivery": lambda error, message: said.append(("settings", error, message.value()))}
    producer = getattr(confluent, kind)({"bootstrap.servers": kafka.address, **of_all})
    producer.produce(topic, value=b"1")
    producer.produce(
        topic, value=b"2", on_delivery=lambda error, message: said.append(("call", error, message.value()))
    )
    assert producer.flush(_SECONDS) == 0
    assert sorted(said) == [("call", None, b"2"), ("settings", None, b"1")]
    assert [span.name for each in recorder.segments for span in each.spans] == 2 * [f"Kafka/{topic}/Producer"]


def test_the_report_in_the_settings_hears_of_a_delivery_that_fails(recorder: Recorder, topic: str) -> None:
    said: list[str] = []
    with dead_address() as address:
        producer = confluent.Producer({
            "bootstrap.servers": address, "message.timeout.ms": 100, "log_level": 0,
            "on_delivery": lambda error, _: said.append(error.name()),
        })  # fmt: skip
        with local_span("job"):
            producer.produce(topic, b"1")
        assert producer.flush(_SECONDS) == 0
    assert said == ["_MSG_TIMED_OUT"]
    assert recorder.span(f"Kafka/{topic}/Delivery").failed


def test_nothing_else_can_be_set_on_an_instance_of_such_a_class() -> None:
    settings = {"bootstrap.servers": "127.0.0.1:9", "group.id": "lamps", "log_level": 0}

    class Small(confluent.Producer):  # type: ignore[misc]
        __slots__ = ("__dict__", "__weakref__")

    Small(settings).own = 1
    for each in (confluent.Producer(settings), confluent.Consumer(settings)):
        assert not hasattr(each, "__dict__")
        assert not hasattr(each, "__slots__")
        with pytest.raises(AttributeError):
            each.typo = 1
        with pytest.raises(TypeError, match="weak reference"):
            weakref.ref(each)


def test_the_classes_with_serializers_too(recorder: Recorder, kafka: Kafka, topic: str) -> None:
    producer = confluent.SerializingProducer(
        {"bootstrap.servers": kafka.address, "value.serializer": lambda value, _: value.encode()}
    )
    producer.produce(topic, None, "1")
    assert producer.flush(_SECONDS) == 0
    consumer = confluent.DeserializingConsumer(
        {"bootstrap.servers": kafka.address, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + _SECONDS
    while (message := consumer.poll(1)) is None:
        assert time.monotonic() < deadline
    assert message.value() == b"1"
    consumer.close()
    assert joins(recorder) == [f"Kafka/{topic}/Consumer/{topic} <- Kafka/{topic}/Producer"]


def test_a_message_of_a_producer_without_an_agent_has_its_record_s_time(
    recorder: Recorder, client: Any, topic: str
) -> None:
    token = suppress_instrumentation.set(True)
    client.send(topic)
    suppress_instrumentation.reset(token)
    with client.consumer(topic) as consumer:
        assert "sw8" not in dict(client.fetch(consumer) or ())
    assert dict(recorder.only.spans[0].tags)["transmission.latency"].isdecimal()
