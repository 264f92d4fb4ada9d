"""kafka-python: the producer's `send`, the consumer's `poll`, and its iterator.

A record's exit span lasts until the broker has acknowledged it, or delivery has failed, whether the application waits
for that or not. A record from a consumer has an entry span until the next is asked for, the loop is left or it is
closed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...showing import showing_received, showing_request
from ...wrapping import around_call
from .inbox import MessageLoop, ending_last, handing_out, loop_over
from .kafka_call import begin_kafka_receive, begin_kafka_send, joined_addresses, record_of, takes_headers
from .message_call import add_to_pairs

_HEADERS = 3  # their place among the arguments of `send`


def _hook(module: Any, patches: Patches) -> None:
    begin = showing_request(patches.listeners.on_request, _begin, record_of("topic", "value", "key", "headers"))
    received = partial(showing_received, patches.listeners.on_response)
    patches.wrap(module.KafkaProducer, "send", around_call(begin, _end_with, rewrite=_carry))
    patches.wrap(module.KafkaConsumer, "__iter__", loop_over(MessageLoop))
    patches.wrap(module.KafkaConsumer, "__next__", handing_out(received(_begin_one)))
    patches.wrap(module.KafkaConsumer, "poll", handing_out(received(_begin_many)))
    patches.wrap(module.KafkaConsumer, "close", ending_last)


def _begin(producer: Any, args: Args, kwargs: Kwargs) -> Span | None:
    return begin_kafka_send(argument(args, kwargs, 0, "topic"), _broker_of(producer))


def _carry(span: Span | None, producer: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    if not takes_headers(producer.config["api_version"]):
        return args, kwargs
    headers = argument(args, kwargs, _HEADERS, "headers")
    added = add_to_pairs(headers, span)
    return (args, kwargs) if added is headers else with_argument(args, kwargs, _HEADERS, "headers", added)


def _end_with(span: Span, future: Any, *_: object) -> None:
    """End a span with the delivery, which another thread reports; it is not the active one meanwhile."""
    span.step_aside()
    future.add_callback(partial(_delivered, span))
    future.add_errback(partial(_failed, span))


def _delivered(span: Span, _: object) -> None:
    safely(end_call, span)


def _failed(span: Span, error: BaseException) -> None:
    safely(end_call, span, error)


def _broker_of(client: Any) -> str:
    return joined_addresses(client.config["bootstrap_servers"])


def _begin_one(consumer: Any, message: Any, *_: object) -> Span | None:
    return begin_kafka_receive((message.topic,), consumer.config["group_id"], _broker_of(consumer), (message,))


def _begin_many(consumer: Any, batches: Any, args: Args, kwargs: Kwargs) -> Span | None:
    # without the offsets it is the iterator's own
    if not argument(args, kwargs, 2, "update_offsets", True):
        return None
    messages = [message for batch in batches.values() for message in batch]
    topics = (partition.topic for partition in batches)
    return begin_kafka_receive(topics, consumer.config["group_id"], _broker_of(consumer), messages)


INSTRUMENTATION = Instrumentation(
    name="kafka-python",
    module="kafka",
    distribution="kafka-python",
    hook=_hook,
    versions=">=2.0.2,<4",
    plugins=("sw_kafka",),
    opentelemetry=("kafka",),
    shows_calls=True,
)
