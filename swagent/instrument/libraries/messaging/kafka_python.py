"""kafka-python: the producer's `send`, the consumer's `poll`, and its iterator.

A record's exit span lasts until the broker has acknowledged it, or delivery has failed, whether anybody waits for that
or not. What a consumer has handed out has an entry span until the next is asked for, the loop is left or it is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...wrapping import call_in
from .inbox import MessageLoop, end_last, ending_last, hand_out, loop_over
from .kafka_call import begin_kafka_receive, begin_kafka_send, joined_addresses, takes_headers
from .message_call import add_to_pairs

_HEADERS = 3  # their place among the arguments of `send`


def _hook(module: Any, patches: Patches) -> None:
    patches.wrap(module.KafkaProducer, "send", _around_send)
    patches.wrap(module.KafkaConsumer, "__iter__", loop_over(MessageLoop))
    patches.wrap(module.KafkaConsumer, "__next__", _around_next)
    patches.wrap(module.KafkaConsumer, "poll", _around_poll)
    patches.wrap(module.KafkaConsumer, "close", ending_last)


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin, self, args, kwargs)
        args, kwargs = safely(_with_context, self, span, args, kwargs) or (args, kwargs)
        return call_in(span, _end_with, end_call, send, self, *args, **kwargs)

    return traced


def _begin(producer: Any, args: Args, kwargs: Kwargs) -> Span | None:
    return begin_kafka_send(argument(args, kwargs, 0, "topic"), _broker_of(producer))


def _with_context(producer: Any, span: Span | None, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with the context in the headers, where there is something to change."""
    if not takes_headers(producer.config["api_version"]):
        return args, kwargs
    headers = argument(args, kwargs, _HEADERS, "headers")
    added = add_to_pairs(headers, span)
    return (args, kwargs) if added is headers else with_argument(args, kwargs, _HEADERS, "headers", added)


def _end_with(span: Span, future: Any) -> None:
    """End a span with the delivery, which another thread tells of; it is not the active one meanwhile."""
    span.step_aside()
    future.add_callback(partial(_delivered, span))
    future.add_errback(partial(_failed, span))


def _delivered(span: Span, _: object) -> None:
    safely(end_call, span)


def _failed(span: Span, error: BaseException) -> None:
    safely(end_call, span, error)


def _broker_of(client: Any) -> str:
    return joined_addresses(client.config["bootstrap_servers"])


def _around_next(ask: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        message = ask(self, *args, **kwargs)
        hand_out(self, _begin_one, self, message)
        return message

    return traced


def _around_poll(poll: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not argument(args, kwargs, 2, "update_offsets", True):
            return poll(self, *args, **kwargs)  # the iterator's own
        end_last(self)
        batches = poll(self, *args, **kwargs)
        if batches:
            hand_out(self, _begin_many, self, batches)
        return batches

    return traced


def _begin_one(consumer: Any, message: Any) -> Span | None:
    return begin_kafka_receive((message.topic,), consumer.config["group_id"], _broker_of(consumer), (message,))


def _begin_many(consumer: Any, batches: Any) -> Span | None:
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
)
