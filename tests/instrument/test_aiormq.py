"""aiormq and aio-pika: a message's way through a real RabbitMQ."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from kit.real.rabbitmq import RabbitMQ
from record.recorded import Recorder
from swagent import current_span, exit_span, local_span
from swagent.messages import consume

from .joins import joins
from .loops import anyio_backend  # noqa: F401
from .rabbitmq_traces import NAME, both, consumed, produced, work
from .trees import trees

aio_pika = pytest.importorskip("aio_pika")
aiormq = pytest.importorskip("aiormq")

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("aio-pika", "aiormq")
AGAINST = "a real RabbitMQ"


@pytest.fixture
async def channel(rabbitmq: RabbitMQ) -> AsyncIterator[Any]:
    connection = await aio_pika.connect_robust(rabbitmq.url)
    async with connection:
        yield await connection.channel()


@pytest.fixture
async def queue(channel: Any) -> Any:
    """One with a name that is the same for every run: it is a part of the spans'."""
    queue = await channel.declare_queue(f"orders-{uuid4().hex[:8]}")
    exchange = await channel.declare_exchange("shop", durable=False)
    await queue.bind(exchange, "orders.new")
    await queue.purge()
    yield queue
    await queue.delete(if_unused=False, if_empty=False)


@pytest.fixture
async def exchange(channel: Any, queue: Any) -> Any:
    return await channel.get_exchange("shop")


async def send(exchange: Any, body: bytes = b"1", **headers: Any) -> None:
    with local_span("job"):
        await exchange.publish(aio_pika.Message(body, headers=headers), "orders.new")


async def test_a_callback_s_message_joins_its_producer_s_trace(
    recorder: Recorder, rabbitmq: RabbitMQ, exchange: Any, queue: Any
) -> None:
    done = asyncio.Event()

    async def on_message(message: Any) -> None:
        async with message.process():
            assert message.headers["tenant"] == "acme"
            await asyncio.sleep(0)
            work()
        done.set()

    # the message may come before the broker's word on it: without a consumer, the producer's segment is the first
    await send(exchange, tenant="acme")
    tag = await queue.consume(on_message)
    await done.wait()
    await queue.cancel(tag)
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


async def test_an_iterator_s_message_has_its_span_until_the_next(
    recorder: Recorder, rabbitmq: RabbitMQ, exchange: Any, queue: Any
) -> None:
    for _ in range(2):
        await send(exchange)
    count = 0
    async with queue.iterator() as messages:
        async for message in messages:
            await message.ack()
            work()
            count += 1
            if count == 2:
                break
    assert current_span() is None
    assert trees(recorder) == "\n".join([produced(rabbitmq)] * 2 + [consumed(rabbitmq)] * 2)
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"] * 2


async def test_a_message_that_is_fetched_has_its_span_until_the_next(
    recorder: Recorder, rabbitmq: RabbitMQ, exchange: Any, queue: Any
) -> None:
    await send(exchange)
    message = await queue.get(timeout=5)
    await message.ack()
    work()
    assert await queue.get(fail=False) is None
    assert current_span() is None
    assert trees(recorder) == both(rabbitmq)
    assert joins(recorder) == [f"{NAME}/Consumer <- {NAME}/Producer"]


async def test_a_message_without_a_queue_fails(recorder: Recorder, rabbitmq: RabbitMQ) -> None:
    async with await aio_pika.connect(rabbitmq.url) as connection:
        channel = await connection.channel(on_return_raises=True)
        with pytest.raises(aio_pika.exceptions.DeliveryError):
            await channel.default_exchange.publish(aio_pika.Message(b"1"), "nowhere")
    assert recorder.span("RabbitMQ/Topic//Queue/nowhere/Producer").failed


async def test_aiormq_by_itself(recorder: Recorder, rabbitmq: RabbitMQ) -> None:
    connection = await aiormq.connect(rabbitmq.url)
    channel = await connection.channel()
    declared = await channel.queue_declare("direct", exclusive=True)
    got: asyncio.Queue[Any] = asyncio.Queue()
    await channel.basic_consume(declared.queue, got.put, no_ack=True)
    own = aiormq.spec.Basic.Properties(headers={"tenant": "acme"})
    with local_span("job"):
        await channel.basic_publish(b"1", routing_key=declared.queue, properties=own)
    first = await got.get()
    assert first.header.properties.headers["tenant"] == "acme"
    assert own.headers == {"tenant": "acme"}
    with exit_span("by hand", rabbitmq.address):
        await channel.basic_publish(b"2", routing_key=declared.queue)
        await channel.basic_publish(
            b"3", routing_key=declared.queue, properties=aiormq.spec.Basic.Properties(headers={"sw8": "mine"})
        )
    await got.get()
    assert (await got.get()).header.properties.headers == {"sw8": "mine"}
    await connection.close()
    name = f"RabbitMQ/Topic//Queue/{declared.queue}"
    assert sorted(joins(recorder)) == sorted([f"{name}/Consumer <- {name}/Producer", f"{name}/Consumer <- by hand"])
    assert sorted(recorder.names) == sorted([["job", f"{name}/Producer"], ["by hand"], *[[f"{name}/Consumer"]] * 3])


async def test_an_iterator_s_spans_by_hand_are_the_only_ones(recorder: Recorder, exchange: Any, queue: Any) -> None:
    await send(exchange)
    async with queue.iterator() as messages:
        async for message in consume(messages, name="orders"):
            await message.ack()
            break
    assert recorder.names[1:] == [["orders"]]
    assert joins(recorder) == [f"orders <- {NAME}/Producer"]
