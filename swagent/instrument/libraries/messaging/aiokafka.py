"""aiokafka: the producer's `send`, which `send_and_wait` comes through, and `send_batch`; the consumer's `getone`,
which `async for` comes through, and `getmany`.

A message's exit span lasts until the broker has acknowledged it, or delivery has failed, whether the application waits
for that or not. The messages of a batch are written before the batch is sent: they carry the context that was active
then.

A message that was handed out has an entry span until the next one is asked for, the loop is left or the consumer is
stopped. A task that asks on its own, as `asyncio.wait_for` does before Python 3.12, gets the span, but it is not
active where the message is worked on.
"""

from __future__ import annotations

import asyncio
import functools
from functools import partial
from typing import Any

from ....record.suppression import suppress_instrumentation
from ....record.trace.span import Span
from ....record.trace.spans import current_span
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches
from ...showing import showing_received, showing_request
from ...wrapping import around_call
from .inbox import AsyncMessageLoop, ending_last, handing_out, loop_over
from .kafka_call import SentRecord, begin_kafka_receive, begin_kafka_send, joined_addresses, record_of, takes_headers
from .message_call import add_to_pairs

_BROKER = "_swagent_broker"
_ARGUMENTS = ("topic", "value", "key", "partition", "timestamp_ms", "headers")
_HEADERS = _ARGUMENTS.index("headers")


def _hook(module: Any, patches: Patches) -> None:
    producer, consumer = module.AIOKafkaProducer, module.AIOKafkaConsumer
    sends, received = patches.listeners.on_request, partial(showing_received, patches.listeners.on_response)
    begin = showing_request(sends, _begin, record_of(*_ARGUMENTS))
    begin_batch = showing_request(sends, _begin_batch, _batch_of)
    patches.wrap(producer, "send", around_call(begin, _end_with, rewrite=_carry))
    patches.wrap(producer, "send_batch", around_call(begin_batch, _end_with))
    patches.wrap(producer, "create_batch", after_call(_let_carry))
    patches.wrap(consumer, "__aiter__", loop_over(AsyncMessageLoop))
    patches.wrap(consumer, "getone", handing_out(received(_begin_one)))
    patches.wrap(consumer, "getmany", handing_out(received(_begin_many)))
    patches.wrap(consumer, "stop", ending_last)


def _end_with(span: Span, future: asyncio.Future[Any], *_: object) -> None:
    """Let a span end with the delivery that is promised; it is not the active one meanwhile."""
    span.step_aside()
    future.add_done_callback(partial(_delivered, span))


def _delivered(span: Span, future: asyncio.Future[Any]) -> None:
    # asked for by `exception()`, an error that the application does not look at would no longer be logged
    error = asyncio.CancelledError() if future.cancelled() else getattr(future, "_exception", None)
    if error is None:
        span.stop()
    else:
        safely(end_call, span, error)


def _carry(span: Span | None, producer: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    if not takes_headers(producer.client.__dict__.get("_api_version")):
        return args, kwargs
    headers = argument(args, kwargs, _HEADERS, "headers")
    added = add_to_pairs(headers, span)
    return (args, kwargs) if added is headers else with_argument(args, kwargs, _HEADERS, "headers", added)


def _begin(producer: Any, args: Args, kwargs: Kwargs) -> Span | None:
    return begin_kafka_send(argument(args, kwargs, 0, "topic"), _broker_of(producer))


def _begin_batch(producer: Any, args: Args, kwargs: Kwargs) -> Span | None:
    return begin_kafka_send(argument(args, kwargs, 1, "topic"), _broker_of(producer))


def _batch_of(_: object, args: Args, kwargs: Kwargs) -> SentRecord:
    return SentRecord(argument(args, kwargs, 1, "topic"), argument(args, kwargs, 0, "batch"), None, None)


def _broker_of(client: Any) -> str:
    """The addresses that a producer or a consumer was given."""
    broker: str | None = client.__dict__.get(_BROKER)
    if broker is None:
        inner: Any = client.__dict__.get("client") or client.__dict__.get("_client")
        broker = client.__dict__[_BROKER] = joined_addresses(inner._bootstrap_servers)  # noqa: SLF001, RUF100
    return broker


def _let_carry(producer: Any, batch: Any, *_: object) -> None:
    """Let what is appended to a batch carry the context that is active then."""
    append, broker = batch.append, _broker_of(producer)

    @functools.wraps(append)
    def carrying(*args: Any, **message: Any) -> Any:
        headers = safely(_with_active_context, message.get("headers"), broker)
        if headers is not None:
            message["headers"] = headers
        return append(*args, **message)

    batch.append = carrying


def _with_active_context(headers: Any, broker: str) -> Any:
    """The headers of a batch's message; None: as they are."""
    span = None if suppress_instrumentation.get() else current_span()
    if span is None or any(key == "sw8" for key, _ in headers or ()):
        return None
    # its compiled part takes a list and nothing else
    return [*(headers or ()), *((key, value.encode()) for key, value in span.headers_for(broker).items())]


def _begin_one(consumer: Any, message: Any, *_: object) -> Span | None:
    return begin_kafka_receive((message.topic,), consumer._group_id, _broker_of(consumer), (message,))  # noqa: SLF001, RUF100


def _begin_many(consumer: Any, batches: Any, *_: object) -> Span | None:
    messages = [message for batch in batches.values() for message in batch]
    topics = (partition.topic for partition in batches)
    return begin_kafka_receive(topics, consumer._group_id, _broker_of(consumer), messages)  # noqa: SLF001, RUF100


INSTRUMENTATION = Instrumentation(
    name="aiokafka",
    module="aiokafka",
    hook=_hook,
    versions=">=0.9,<1",
    opentelemetry=("aiokafka",),
    shows_calls=True,
)
