"""pika: a message's way through a real RabbitMQ, by the blocking channel and by asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from kit.real.rabbitmq import RabbitMQ
from record.recorded import Recorder
from swagent import current_span, local_span

from .joins import joins
from .rabbitmq_traces import NAME, both, work
from .trees import trees
from .watcher import Watcher

pika: Any = pytest.importorskip("pika")
from pika.adapters.asyncio_connection import AsyncioConnection  # noqa: E402

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("pika",)
AGAINST = "a real RabbitMQ"


@pytest.fixture
def channel(rabbitmq: RabbitMQ) -> Iterator[Any]:
    connection = pika.BlockingConnection(pika.URLParameters(rabbitmq.url))
    channel = connection.channel()
    channel.exchange_declare("shop")
    yield channel
    connection.close()


@pytest.fixture
def queue(channel: Any) -> str:
    name = f"orders-{uuid4().hex[:8]}"
    channel.queue_declare(name, auto_delete=True)
    channel.queue_bind(name, "shop", "orders.new")
    return name


def send(channel: Any, properties: Any = None) -> None:
    with local_span("job"):
        channel.basic_publish("shop", "orders.new", b"1", properties)


def test_a_callback_s_message_joins_its_producer_s_trace(
    recorder: Recorder, rabbitmq: RabbitMQ, channel: Any, queue: str
) -> None:
    def on_message(receiver: Any, method: Any, properties: Any, body: bytes) -> None:
        assert properties.headers["tenant"] == "acme"
        work()
        receiver.stop_consuming()

    own = pika.BasicProperties(headers={"tenant": "acme"})
    send(channel, own)
    assert own.headers == {"tenant": "acme"}
    channel.basic_consume(queue, on_message, auto_ack=True)
    channel.start_consuming()
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


def test_messages_are_shown(recorder: Recorder, channel: Any, watcher: Watcher) -> None:
    # it stays when its consumer goes
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, "shop", "orders.new")
    watcher.watch("pika")
    for _ in range(3):
        send(channel)
    fetched = channel.basic_get(queue, auto_ack=True)
    method, *_ = next(channel.consume(queue, auto_ack=True))
    channel.cancel()
    channel.basic_consume(queue, lambda receiver, *_: receiver.stop_consuming(), auto_ack=True)
    send(channel)
    channel.start_consuming()
    assert watcher.requests == [(f"{NAME}/Producer", ("shop", "orders.new", b"1", None))] * 4
    names, shown = zip(*watcher.responses, strict=True)
    assert names == (f"{NAME}/Consumer",) * 3
    assert shown[0] == fetched
    assert shown[1][0] is method
    assert [body for *_, body in shown] == [b"1"] * 3
    assert not watcher.has_seen_ended
    assert not any(span.failed for segment in recorder.segments for span in segment.spans)


def test_a_generator_s_message_has_its_span_until_the_next(
    recorder: Recorder, rabbitmq: RabbitMQ, channel: Any, queue: str
) -> None:
    send(channel)
    has_come = False
    for method, _, _ in channel.consume(queue, auto_ack=True, inactivity_timeout=0.1):
        if method is not None:
            has_come = True
            work()
            continue
        assert current_span() is None
        if has_come:  # a busy broker lets one wait before it, too
            break
    channel.cancel()
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


def test_a_generator_that_is_left_ends_its_last_span(recorder: Recorder, channel: Any, queue: str) -> None:
    send(channel)
    for _ in channel.consume(queue, auto_ack=True):
        break
    assert current_span() is None
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


def test_a_message_that_is_fetched_has_its_span_until_the_next(
    recorder: Recorder, rabbitmq: RabbitMQ, channel: Any, queue: str
) -> None:
    channel.confirm_delivery()
    send(channel)
    channel.basic_get(queue, auto_ack=True)
    work()
    assert channel.basic_get(queue) == (None, None, None)
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


def test_a_message_without_a_queue_fails(recorder: Recorder, channel: Any) -> None:
    channel.confirm_delivery()
    with pytest.raises(pika.exceptions.UnroutableError):
        channel.basic_publish("", "nowhere", b"1", mandatory=True)
    assert recorder.span("RabbitMQ/Topic//Queue/nowhere/Producer").failed


def test_a_channel_of_asyncio(recorder: Recorder, rabbitmq: RabbitMQ) -> None:
    async def send_and_receive() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def on_message(*_: Any) -> None:
            work()
            loop.call_soon(done.set_result, None)

        def on_bound(_: Any) -> None:
            channel = opened[0]
            channel.basic_consume(name, on_message, auto_ack=True)
            send(channel)

        def on_channel(channel: Any) -> None:
            opened.append(channel)
            channel.queue_declare(name, exclusive=True)
            channel.exchange_declare("shop")
            channel.queue_bind(name, "shop", "orders.new", callback=on_bound)

        opened: list[Any] = []
        name = f"orders-{uuid4().hex[:8]}"
        closed = loop.create_future()
        connection = AsyncioConnection(
            pika.URLParameters(rabbitmq.url),
            on_open_callback=lambda connection: connection.channel(on_open_callback=on_channel),
            on_close_callback=lambda *_: closed.set_result(None),
        )
        await done
        connection.close()
        await closed

    asyncio.run(send_and_receive())
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]
