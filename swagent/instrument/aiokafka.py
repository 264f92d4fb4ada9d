"""aiokafka: the producer's `send`, which `send_and_wait` comes through, and `send_batch`; the consumer's `getone`,
which `async for` comes through, and `getmany`.

A message's exit span lasts until the broker has acknowledged it, or delivery has failed, whether anybody waits for that
or not. The messages of a batch are written before the batch is sent: they carry the context that was active then.

A message that was handed out has an entry span until the next one is asked for, the loop is left or the consumer is
stopped. Who asks in a task of its own, as `asyncio.wait_for` does before Python 3.12, gets the span, but it is not
active where the message is worked on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from ..record.suppression import suppress_instrumentation
from ..record.trace.span import Span
from ..record.trace.spans import current_span
from .call import end_call, safely
from .inbox import AsyncMessageLoop, end_last, hand_out, loop_over
from .instrumentation import Instrumentation
from .kafka_call import begin_kafka_receive, begin_kafka_send, joined_addresses, takes_headers
from .message_call import add_to_pairs
from .patches import Patches
from .wrapping import await_in

_BROKER = "_swagent_broker"


def _hook(module: Any, patches: Patches) -> None:
    producer, consumer = module.AIOKafkaProducer, module.AIOKafkaConsumer
    patches.wrap(producer, "send", _around_send)
    patches.wrap(producer, "send_batch", _around_send_batch)
    patches.wrap(producer, "create_batch", _around_create_batch)
    patches.wrap(consumer, "__aiter__", loop_over(AsyncMessageLoop))
    patches.wrap(consumer, "getone", _around_getone)
    patches.wrap(consumer, "getmany", _around_getmany)
    patches.wrap(consumer, "stop", _around_stop)


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(
        self: Any,
        topic: Any,
        value: Any = None,
        key: Any = None,
        partition: Any = None,
        timestamp_ms: Any = None,
        headers: Any = None,
    ) -> Any:
        span, headers = safely(_begin_send, self, topic, headers) or (None, headers)
        return await await_in(
            span, _end_with, end_call, send, self, topic, value, key, partition, timestamp_ms, headers
        )

    return traced


def _around_send_batch(send_batch: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, batch: Any, topic: Any, **kwargs: Any) -> Any:
        span = safely(_begin, self, topic)
        return await await_in(span, _end_with, end_call, send_batch, self, batch, topic, **kwargs)

    return traced


def _end_with(span: Span, future: asyncio.Future[Any]) -> None:
    """Let a span end with the delivery that is promised; it is not the active one meanwhile."""
    span.step_aside()
    future.add_done_callback(partial(_delivered, span))


def _delivered(span: Span, future: asyncio.Future[Any]) -> None:
    # asked for by `exception()`, an error that nobody looks at would no longer be logged
    error = asyncio.CancelledError() if future.cancelled() else getattr(future, "_exception", None)
    if error is None:
        span.stop()
    else:
        safely(end_call, span, error)


def _begin_send(producer: Any, topic: str, headers: Any) -> tuple[Span | None, Any]:
    span = _begin(producer, topic)
    if takes_headers(producer.client.__dict__.get("_api_version")):
        headers = add_to_pairs(headers, span)
    return span, headers


def _begin(producer: Any, topic: str) -> Span | None:
    return begin_kafka_send(topic, _broker_of(producer))


def _broker_of(client: Any) -> str:
    """The addresses that a producer or a consumer was given."""
    broker: str | None = client.__dict__.get(_BROKER)
    if broker is None:
        inner: Any = client.__dict__.get("client") or client.__dict__.get("_client")
        broker = client.__dict__[_BROKER] = joined_addresses(inner._bootstrap_servers)  # noqa: SLF001, RUF100
    return broker


def _around_create_batch(create_batch: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any) -> Any:
        batch = create_batch(self)
        safely(_let_carry, batch, self)
        return batch

    return traced


def _let_carry(batch: Any, producer: Any) -> None:
    """Let what is appended to a batch carry the context that is active then."""
    append, broker = batch.append, _broker_of(producer)

    def carrying(**message: Any) -> Any:
        headers = safely(_with_active_context, message.get("headers"), broker)
        if headers is not None:
            message["headers"] = headers
        return append(**message)

    batch.append = carrying


def _with_active_context(headers: Any, broker: str) -> Any:
    """The headers of a batch's message; None: as they are."""
    span = None if suppress_instrumentation.get() else current_span()
    if span is None or any(key == "sw8" for key, _ in headers or ()):
        return None
    # its compiled part takes a list and nothing else
    return [*(headers or ()), *((key, value.encode()) for key, value in span.headers_for(broker).items())]


def _around_getone(getone: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *partitions: Any) -> Any:
        end_last(self)
        message = await getone(self, *partitions)
        hand_out(self, _begin_one, self, message)
        return message

    return traced


def _around_getmany(getmany: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *partitions: Any, **kwargs: Any) -> Any:
        end_last(self)
        batches = await getmany(self, *partitions, **kwargs)
        if batches:
            hand_out(self, _begin_many, self, batches)
        return batches

    return traced


def _around_stop(stop: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any) -> None:
        end_last(self)
        await stop(self)

    return traced


def _begin_one(consumer: Any, message: Any) -> Span | None:
    return begin_kafka_receive((message.topic,), consumer._group_id, _broker_of(consumer), (message,))  # noqa: SLF001, RUF100


def _begin_many(consumer: Any, batches: Any) -> Span | None:
    messages = [message for batch in batches.values() for message in batch]
    topics = (partition.topic for partition in batches)
    return begin_kafka_receive(topics, consumer._group_id, _broker_of(consumer), messages)  # noqa: SLF001, RUF100


INSTRUMENTATION = Instrumentation(
    name="aiokafka",
    module="aiokafka",
    hook=_hook,
    versions=">=0.9,<1",
    opentelemetry=("aiokafka",),
)
