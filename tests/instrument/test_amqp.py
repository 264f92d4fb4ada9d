"""amqp, which is py-amqp, and kombu above it: a message's way through a real RabbitMQ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from kit.real.rabbitmq import RabbitMQ
from record.recorded import Recorder
from swagent import current_span, exit_span, local_span
from swagent.instrument import uninstrument

from .joins import joins
from .rabbitmq_traces import NAME, both, work
from .trees import trees
from .watcher import Watcher

amqp: Any = pytest.importorskip("amqp")
kombu: Any = pytest.importorskip("kombu")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("amqp",)
NEEDS = ("kombu",)
AGAINST = "a real RabbitMQ"
JOIN = f"{NAME}/Consumer <- {NAME}/Producer"


@pytest.fixture(params=[False, True], ids=["unconfirmed", "confirmed"])
def channel(request: pytest.FixtureRequest, rabbitmq: RabbitMQ) -> Iterator[Any]:
    with amqp.Connection(rabbitmq.address, confirm_publish=request.param) as connection:
        channel = connection.channel()
        channel.exchange_declare("shop", "direct", auto_delete=False)
        yield channel


@pytest.fixture
def queue(channel: Any) -> str:
    name = f"orders-{uuid4().hex[:8]}"
    channel.queue_declare(name, exclusive=True)
    channel.queue_bind(name, "shop", "orders.new")
    return name


def send(channel: Any, message: Any = None) -> None:
    with local_span("job"):
        channel.basic_publish(message or amqp.Message("1"), exchange="shop", routing_key="orders.new")


def test_a_callback_s_message_joins_its_producer_s_trace(
    recorder: Recorder, rabbitmq: RabbitMQ, channel: Any, queue: str
) -> None:
    def on_message(message: Any) -> None:
        work()
        got.append((message.body, message.properties["application_headers"]["tenant"]))

    got: list[Any] = []
    send(channel, amqp.Message("1", application_headers={"tenant": "acme"}))
    channel.basic_consume(queue, no_ack=True, callback=on_message)
    while not got:
        channel.connection.drain_events()
    assert got == [("1", "acme")]
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [JOIN]


def test_the_message_is_the_application_s(recorder: Recorder, channel: Any, queue: str) -> None:
    own = {"tenant": "acme"}
    message = amqp.Message("1", application_headers=own)
    for _ in range(2):
        send(channel, message)
    assert own == {"tenant": "acme"}
    # the library notes the encoding in what it gets
    assert message.properties == {"application_headers": own, "content_encoding": "utf-8"}
    assert message.properties["application_headers"] is own
    uninstrument("amqp")
    sent = [channel.basic_get(queue, no_ack=True).properties["application_headers"]["sw8"] for _ in range(2)]
    assert len({*sent}) == 2


def test_messages_are_shown(recorder: Recorder, channel: Any, queue: str, watcher: Watcher) -> None:
    watcher.watch("amqp")
    # one that waits for the broker's word keeps the function that it was opened with
    channel = channel.connection.channel()
    got: list[Any] = []
    send(channel)
    got.append(channel.basic_get(queue, no_ack=True))
    channel.basic_consume(queue, no_ack=True, callback=got.append)
    send(channel, amqp.Message(b"1", priority=1))
    while len(got) < 2:
        channel.connection.drain_events()
    properties = ({"content_encoding": "utf-8"}, {"priority": 1})
    bodies = ("1", b"1")
    assert watcher.requests == [
        (f"{NAME}/Producer", ("shop", "orders.new", body, each)) for body, each in zip(bodies, properties, strict=True)
    ]
    assert watcher.responses == [(f"{NAME}/Consumer", each) for each in got]
    assert not watcher.has_seen_ended
    assert not any(span.failed for segment in recorder.segments for span in segment.spans)


def test_a_callback_that_fails_shows(recorder: Recorder, channel: Any, queue: str) -> None:
    def on_message(_: Any) -> None:
        raise LookupError("no such order")

    send(channel)
    channel.basic_consume(queue, no_ack=True, callback=on_message)
    with pytest.raises(LookupError):
        channel.connection.drain_events()
    assert recorder.span(f"{NAME}/Consumer").failed


def test_a_message_that_is_fetched_has_its_span_until_the_next(
    recorder: Recorder, rabbitmq: RabbitMQ, channel: Any, queue: str
) -> None:
    send(channel)
    while channel.basic_get(queue, no_ack=True) is None:
        assert current_span() is None
    work()
    assert channel.basic_get(queue) is None
    assert current_span() is None
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [JOIN]


def test_a_message_that_the_broker_refuses_fails(recorder: Recorder, rabbitmq: RabbitMQ) -> None:
    with amqp.Connection(rabbitmq.address, confirm_publish=True) as connection:
        channel = connection.channel()
        with pytest.raises(amqp.exceptions.NotFound):
            channel.basic_publish(amqp.Message("1"), "nowhere")
    assert recorder.span("RabbitMQ/Topic/nowhere/Queue//Producer").failed


def test_a_closed_channel_sends_nothing(recorder: Recorder, channel: Any, caplog: pytest.LogCaptureFixture) -> None:
    channel.close()
    with pytest.raises(amqp.exceptions.RecoverableConnectionError):
        channel.basic_publish(amqp.Message("1"), "shop")
    assert recorder.segments == []
    assert caplog.records == []


def test_headers_of_the_application_stay(recorder: Recorder, channel: Any, queue: str) -> None:
    with exit_span("by hand", "queue.test:5672"):
        channel.basic_publish(amqp.Message("1", application_headers={"sw8": "mine"}), "shop", "orders.new")
        channel.basic_publish(amqp.Message("1"), "shop", "orders.new")
    got: list[Any] = []
    channel.basic_consume(queue, no_ack=True, callback=got.append)
    while len(got) < 2:
        channel.connection.drain_events()
    assert got[0].properties["application_headers"] == {"sw8": "mine"}
    assert joins(recorder) == [f"{NAME}/Consumer <- by hand"]


class TestThroughKombu:
    @pytest.fixture
    def connection(self, rabbitmq: RabbitMQ) -> Iterator[Any]:
        with kombu.Connection(rabbitmq.url) as connection:
            yield connection

    @pytest.fixture
    def orders(self, connection: Any) -> Any:
        exchange = kombu.Exchange("shop", "direct", durable=False)
        queue = kombu.Queue(f"orders-{uuid4().hex[:8]}", exchange, "orders.new", exclusive=True)
        return queue(connection.default_channel)

    @pytest.fixture
    def producer(self, orders: Any) -> Any:
        orders.declare()
        return kombu.Producer(orders.channel, orders.exchange, "orders.new")

    @pytest.mark.parametrize("way", ["callbacks", "on_message"])
    def test_a_consumer_s_message_joins_its_producer_s_trace(
        self, way: str, recorder: Recorder, rabbitmq: RabbitMQ, connection: Any, orders: Any, producer: Any
    ) -> None:
        def on_message(*message: Any) -> None:
            work()
            message[-1].ack()
            got.append(message[-1].headers["tenant"])

        got: list[str] = []
        own = {"tenant": "acme"}
        with local_span("job"):
            producer.publish({"item": 1}, headers=own)
        assert own == {"tenant": "acme"}
        ways = {"callbacks": [on_message]} if way == "callbacks" else {"on_message": on_message}
        with kombu.Consumer(orders.channel, [orders], **ways):
            while not got:
                connection.drain_events()
        assert got == ["acme"]
        assert trees(recorder) == both(rabbitmq)
        assert joins(recorder) == [JOIN]
