"""confluent-kafka: `produce`, and the consumer's `poll` and `consume`. Its classes are C types, which nobody can
change: subclasses take their places, and the originals' own subclasses, which are of Python, are wrapped.

A record's exit span lasts as long as `produce`, which queues it: when the delivery is told of depends on when the
application calls `poll`. A delivery that failed has a span of its own, which follows the first, and is local since the
call has been counted. What a consumer has handed out has an entry span until the next is asked for, or it is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..record.trace.context_snapshot import ContextSnapshot
from ..record.trace.model import Component, Layer
from ..record.trace.span import Span
from ..record.trace.spans import local_span
from .call import end_call, safely
from .inbox import end_last, ending_last, hand_out
from .instrumentation import Instrumentation
from .kafka_call import begin_kafka_receive, begin_kafka_send, joined_addresses
from .message_call import add_to_mapping, add_to_pairs
from .patches import Patches

_BROKER, _GROUP = "_swagent_broker", "_swagent_group"
_C_ARGUMENTS = ("value", "key", "partition", "callback", "on_delivery", "timestamp", "headers")
_PYTHON_ARGUMENTS = ("key", "value", "partition", "on_delivery", "timestamp", "headers")


def _hook(module: Any, patches: Patches) -> None:
    producer, consumer = _subclass(module.Producer), _subclass(module.Consumer)
    patches.set(module, "Producer", producer)
    patches.set(module, "Consumer", consumer)
    for owner, names in ((producer, _C_ARGUMENTS), (module.SerializingProducer, _PYTHON_ARGUMENTS)):
        patches.wrap(owner, "__init__", _around_init)
        patches.wrap(owner, "produce", partial(_around_produce, names))
    for owner in (consumer, module.DeserializingConsumer):
        patches.wrap(owner, "__init__", _around_init)
        patches.wrap(owner, "poll", _around_poll)
        patches.wrap(owner, "consume", _around_consume)
        patches.wrap(owner, "close", ending_last)


def _subclass(original: Any) -> Any:
    """A class of the same name, whose instances those of the original's other subclasses are, too."""

    def is_instance(_: object, instance: Any) -> bool:
        return isinstance(instance, original)

    meta: Any = type("Meta", (original.__class__,), {"__instancecheck__": is_instance})
    names = {"__module__": original.__module__, "__doc__": original.__doc__, "__qualname__": original.__qualname__}
    return meta(original.__name__, (original,), names)


def _around_init(init: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> None:
        safely(_remember, self, args, kwargs)
        init(self, *args, **kwargs)

    return traced


def _remember(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    settings: dict[str, Any] = {**(args[0] if args else {}), **kwargs}
    servers = settings.get("bootstrap.servers") or settings.get("metadata.broker.list") or ""
    client.__dict__[_BROKER] = joined_addresses(servers)
    client.__dict__[_GROUP] = settings.get("group.id")


def _around_produce(names: tuple[str, ...], produce: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, topic: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin, self, topic)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        carrying = safely(_carrying, given, topic, span)
        if span is None:
            return produce(self, topic, *args, **kwargs) if carrying is None else produce(self, topic, **carrying)
        try:
            result = produce(self, topic, **(carrying or given))
        except BaseException as error:
            safely(end_call, span, error)
            raise
        safely(end_call, span)
        return result

    return traced


def _begin(producer: Any, topic: Any) -> Span | None:
    return begin_kafka_send(topic, producer.__dict__[_BROKER])


def _carrying(given: dict[str, Any], topic: Any, span: Span | None) -> dict[str, Any]:
    """The arguments with the context in the headers, and with a report of the delivery."""
    headers: Any = given.get("headers")
    headers = add_to_mapping(headers, span) if type(headers) is dict else add_to_pairs(headers, span)
    changed = {**given, "headers": headers} if headers is not None else given
    if span is not None:
        name = "callback" if given.get("callback") is not None else "on_delivery"
        changed = {**changed, name: _Delivery(span, topic, given.get(name))}
    return changed


class _Delivery:
    """Told of a delivery, in the thread that asks for such reports."""

    __slots__ = ("_callback", "_span", "_topic")

    def __init__(self, span: Span, topic: str, callback: Any) -> None:
        self._span = span
        self._topic = topic
        self._callback = callback

    def __call__(self, error: Any, message: Any) -> None:
        if error is not None:
            safely(self._note, error)
        if self._callback is not None:
            self._callback(error, message)

    def _note(self, error: Any) -> None:
        name = f"Kafka/{self._topic}/Delivery"
        with (
            ContextSnapshot(self._span),
            local_span(name, component=Component.KAFKA_PRODUCER, layer=Layer.MQ) as span,
        ):
            span.error().log(**{"event": "error", "error.kind": type(error).__name__, "message": error})


def _around_poll(poll: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        message = poll(self, *args, **kwargs)
        if message is not None:
            hand_out(self, _begin_receive, self, (message,))
        return message

    return traced


def _around_consume(consume: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        messages = consume(self, *args, **kwargs)
        if messages:
            hand_out(self, _begin_receive, self, messages)
        return messages

    return traced


def _begin_receive(consumer: Any, messages: Any) -> Span | None:
    """An event, such as the end of a partition, is no message."""
    messages = [message for message in messages if message.error() is None]
    if not messages:
        return None
    topics = (message.topic() for message in messages)
    headers = [{"headers": message.headers()} for message in messages]
    return begin_kafka_receive(topics, consumer.__dict__.get(_GROUP), consumer.__dict__.get(_BROKER, ""), headers)


INSTRUMENTATION = Instrumentation(
    name="confluent-kafka",
    module="confluent_kafka",
    distribution="confluent-kafka",
    hook=_hook,
    versions=">=2.0.2,<3",
    plugins=("sw_confluent_kafka",),
    opentelemetry=("confluent_kafka",),
)
