"""Pulsar, at the seam between its client's Python and its C++: what goes down there, and what comes up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from record.recorded import Recorder
from swagent import current_span, local_span
from swagent.record.suppression import suppress_instrumentation

from .joins import joins
from .trees import trees

pulsar: Any = pytest.importorskip("pulsar")
pulsar_asyncio: Any = pytest.importorskip("pulsar.asyncio")

INSTRUMENTED = ("pulsar",)
AGAINST = "a fake: Python in place of the client's C++, and no server"
TOPIC = "persistent://public/default/orders"
NAME = f"Pulsar/Topic/{TOPIC}"
BROKER = "a.test:6650;b.test:6650"

PUBLISHED = 1_000_000_000_000


class Below:
    """Replaces the C++ client, its producers and consumers: each message that is sent comes in again."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.deliver: Callable[[], None] | None = None
        self.listener: Any = None

    def topic(self) -> str:
        return TOPIC

    def create_producer(self, topic: str, conf: Any) -> Below:
        return self

    def subscribe(self, topic: str, name: str, conf: Any) -> Below:
        return self

    def create_producer_async_v2(self, topic: str, conf: Any, done: Any) -> None:
        done(self)

    def subscribe_async_v2(self, topic: Any, name: str, conf: Any, done: Any) -> None:
        done(self)

    def close(self) -> None:
        pass

    def send(self, message: Any) -> str:
        if message.data() == b"refused":
            raise RuntimeError("refused")
        self.messages.append(Incoming(message))
        return "0"

    def send_async(self, message: Any, callback: Any) -> None:
        self.messages.append(Incoming(message))
        result = pulsar.Result.Timeout if message.data() == b"late" else pulsar.Result.Ok
        message_id = pulsar.MessageId.earliest
        self.deliver = lambda: callback(result, message_id)

    def receive(self) -> Any:
        assert current_span() is None, "the last message is done before the next one is waited for"
        return self.messages.pop(0)

    def receive_async(self, callback: Any) -> None:
        callback(pulsar.Result.Ok, self.messages.pop(0))

    def batch_receive(self) -> list[Any]:
        messages, self.messages = self.messages, []
        return messages


class Incoming:
    def __init__(self, message: Any) -> None:
        self._message = message

    def topic_name(self) -> str:
        return f"{TOPIC}-partition-3"

    def properties(self) -> Any:
        return self._message.properties()

    def publish_timestamp(self) -> int:
        return PUBLISHED


@pytest.fixture
def below() -> Below:
    return Below()


@pytest.fixture
def client(below: Below) -> Any:
    client = pulsar.Client("pulsar://a.test:6650,b.test:6650")
    client._client = below
    return client


def make_schema() -> Any:
    schema = pulsar.schema.BytesSchema()
    schema.attach_client = lambda _: None  # it wants the real client
    return schema


def make_consumer(client: Any) -> Any:
    return client.subscribe("orders", "shop", schema=make_schema())


SENT = f"Exit {NAME}/Producer PULSAR_PRODUCER/MQ {BROKER} mq.broker={BROKER} mq.topic={TOPIC}"
DONE = f"Entry {NAME}/Consumer PULSAR_CONSUMER/MQ mq.broker={BROKER} mq.topic={TOPIC} transmission.latency=…"


def test_a_message_joins_its_producer_s_trace(recorder: Recorder, client: Any, below: Below) -> None:
    own = {"tenant": "acme"}
    with local_span("job"):
        client.create_producer("orders").send(b"1", own)
    consumer = make_consumer(client)
    message = consumer.receive()
    assert message.properties()["tenant"] == "acme"
    with local_span("work"):
        pass
    consumer.close()
    assert own == {"tenant": "acme"}
    assert trees(recorder) == f"Local job\n  {SENT}\n{DONE}\n  Local work"
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


def test_a_batch_refers_to_each_producer(recorder: Recorder, client: Any) -> None:
    producer = client.create_producer("orders")
    for _ in range(3):
        producer.send(b"1")
    consumer = make_consumer(client)
    assert len(consumer.batch_receive()) == 3
    assert consumer.batch_receive() == []
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"] * 3


@pytest.mark.parametrize(("content", "failed"), [(b"1", False), (b"late", True)])
def test_a_span_lasts_until_the_message_is_acknowledged(
    content: bytes, failed: bool, recorder: Recorder, client: Any, below: Below
) -> None:
    found: list[Any] = []
    with local_span("job"):
        client.create_producer("orders").send_async(content, lambda *args: found.append(args))
        with local_span("work"):
            pass
    assert recorder.names == []
    assert below.deliver is not None
    below.deliver()
    assert len(found) == 1
    assert recorder.names == [["job", f"{NAME}/Producer", "work"]]
    assert recorder.parent_of("work") == "job"
    assert recorder.span(f"{NAME}/Producer").failed is failed


def test_a_failure_shows(recorder: Recorder, client: Any) -> None:
    with pytest.raises(RuntimeError):
        client.create_producer("orders").send(b"refused")
    assert trees(recorder) == f"{SENT} FAILED"


def test_a_listener_s_message_has_its_span_while_it_is_worked_on(
    recorder: Recorder, client: Any, below: Below, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_producer("orders").send(b"1")
    wrapped: list[Any] = []
    monkeypatch.setattr(pulsar, "_listener_wrapper", lambda listener, _: wrapped.append(listener))
    monkeypatch.setattr(pulsar._pulsar.ConsumerConfiguration, "message_listener", lambda *_: None)

    def listener(consumer: Any, message: Any) -> None:
        with local_span("work"):
            pass

    client.subscribe("orders", "shop", schema=make_schema(), message_listener=listener)
    wrapped[0](None, below.messages[0])
    assert trees(recorder) == f"{SENT}\n{DONE}\n  Local work"


@pytest.mark.skipif(not hasattr(pulsar_asyncio, "Consumer"), reason="it has no consumer before pulsar-client 3.8")
def test_the_client_of_asyncio(recorder: Recorder, below: Below) -> None:
    async def send_and_receive() -> None:
        client = pulsar_asyncio.Client("pulsar://a.test:6650,b.test:6650")
        client._client = below
        producer = await client.create_producer("orders", schema=make_schema())
        with local_span("job"):
            sending = asyncio.ensure_future(producer.send(b"1"))
            await asyncio.sleep(0)
            assert below.deliver is not None
            below.deliver()
            await sending
        consumer = await client.subscribe("orders", "shop", schema=make_schema())
        await consumer.receive()
        with local_span("work"):
            pass
        del consumer

    asyncio.run(send_and_receive())
    assert trees(recorder) == f"Local job\n  {SENT}\n{DONE}\n  Local work"
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


def test_a_message_of_a_producer_without_an_agent_has_the_client_s_time(recorder: Recorder, client: Any) -> None:
    token = suppress_instrumentation.set(True)
    client.create_producer("orders").send(b"1")
    suppress_instrumentation.reset(token)
    consumer = make_consumer(client)
    consumer.receive()
    consumer.close()
    latency = int(dict(recorder.only.spans[0].tags)["transmission.latency"])
    assert latency >= 3_600_000, "it was published years ago"
