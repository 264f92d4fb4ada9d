"""confluent-kafka: `produce`, and the consumer's `poll` and `consume`. Its classes are C types, which cannot be
changed: subclasses take their places, and the originals' own subclasses, which are of Python, are wrapped.

A record's exit span lasts as long as `produce`, which queues it: the delivery is reported when the
application calls `poll`. A delivery that failed has a span of its own, which follows the first, and is local since the
call has been counted. A message from a consumer has an entry span until the next is asked for, or it is closed.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ....record.trace.context_snapshot import ContextSnapshot
from ....record.trace.model import Component, Layer
from ....record.trace.span import Span
from ....record.trace.spans import local_span
from ....record.trace.transmission import ArrivedMessage
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import safely
from ...instrumentation import Instrumentation
from ...looking import before_call, before_function
from ...patches import Patches
from ...showing import showing_received, showing_request
from ...subclass import own_attribute, replacement_of
from ...wrapping import around_call
from .inbox import INBOX, ending_last, handing_out
from .kafka_call import begin_kafka_receive, begin_kafka_send, joined_addresses, record_of
from .message_call import add_to_mapping, add_to_pairs

_SETTINGS = "_swagent_settings"
_C_ARGUMENTS = ("topic", "value", "key", "partition", "callback", "on_delivery", "timestamp", "headers")
_PYTHON_ARGUMENTS = ("topic", "key", "value", "partition", "on_delivery", "timestamp", "headers")
_REPORTS = ("callback", "on_delivery")


def _hook(module: Any, patches: Patches) -> None:
    producer, consumer = _replacement_of(module.Producer), _replacement_of(module.Consumer)
    received = partial(showing_received, patches.listeners.on_response)
    patches.set(module, "Producer", producer)
    patches.set(module, "Consumer", consumer)
    for owner in (producer, consumer):
        # its settings may have any name
        patches.wrap(owner, "__init__", before_function(_remember_settings))
    for owner in (module.SerializingProducer, module.DeserializingConsumer):
        patches.wrap(owner, "__init__", before_call(_remember))
    for owner, names in ((producer, _C_ARGUMENTS), (module.SerializingProducer, _PYTHON_ARGUMENTS)):
        places = {name: place for place, name in enumerate(names)}
        begin = showing_request(patches.listeners.on_request, _begin, record_of(*names))
        patches.wrap(owner, "produce", around_call(begin, rewrite=partial(_carry, places)))
    for owner in (consumer, module.DeserializingConsumer):
        patches.wrap(owner, "poll", handing_out(received(_begin_one)))
        patches.wrap(owner, "consume", handing_out(received(_begin_many)))
        patches.wrap(owner, "close", ending_last)


_replacements: dict[type, Any] = {}
"""One for each class of C: clients that were made of it, and names that an application has imported, record again when
the hook is called again."""


def _replacement_of(base: type) -> Any:
    if base not in _replacements:
        # its instances take no other attributes, as those of C
        _replacements[base] = replacement_of(base, {"__slots__": (_SETTINGS, INBOX)})
    return _replacements[base]


class _Settings(NamedTuple):
    """Settings of a client that its calls need."""

    broker: str
    group: str | None
    report: Any


_NONE = _Settings("", None, None)


def _settings_of(client: Any) -> _Settings:
    """No settings, if the application has not called the class's `__init__`."""
    return own_attribute(client, _SETTINGS, _NONE)  # type: ignore[no-any-return]


def _remember_settings(args: Args, kwargs: Kwargs) -> None:
    _remember(args[0], args[1:], kwargs)


def _remember(client: Any, args: Args, kwargs: Kwargs) -> None:
    settings: dict[str, Any] = {**(args[0] if args else kwargs.get("conf") or {}), **kwargs}
    servers = settings.get("bootstrap.servers") or settings.get("metadata.broker.list") or ""
    known = _Settings(joined_addresses(servers), settings.get("group.id"), settings.get("on_delivery"))
    object.__setattr__(client, _SETTINGS, known)


def _begin(producer: Any, args: Args, kwargs: Kwargs) -> Span | None:
    return begin_kafka_send(argument(args, kwargs, 0, "topic"), _settings_of(producer).broker)


def _carry(places: dict[str, int], span: Span | None, producer: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with the context in the headers, and with a report of the delivery."""
    place = places["headers"]
    headers: Any = argument(args, kwargs, place, "headers")
    added = add_to_mapping(headers, span) if type(headers) is dict else add_to_pairs(headers, span)
    if added is not headers:
        args, kwargs = with_argument(args, kwargs, place, "headers", added)
    if span is not None:
        topic = argument(args, kwargs, 0, "topic")
        given = {name: argument(args, kwargs, places[name], name) for name in _REPORTS if name in places}
        name = next((name for name in given if given[name] is not None), "on_delivery")
        # a callback of the call takes the place of the one in the producer's settings
        callback = _settings_of(producer).report if given[name] is None else given[name]
        report = _Delivery(span, topic, callback)
        if given[name] is None or callable(given[name]):
            args, kwargs = with_argument(args, kwargs, places[name], name, report)
    return args, kwargs


class _Delivery:
    """The callback of a delivery, in the thread that asks for such reports."""

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


def _begin_one(consumer: Any, message: Any, *_: object) -> Span | None:
    return _begin_many(consumer, (message,))


def _begin_many(consumer: Any, messages: Any, *_: object) -> Span | None:
    """An event, such as the end of a partition, is no message."""
    messages = [message for message in messages if message.error() is None]
    if not messages:
        return None
    topics = (message.topic() for message in messages)
    arrived = [ArrivedMessage(message.headers(), _timestamp_of(message)) for message in messages]
    broker, group, _ = _settings_of(consumer)
    return begin_kafka_receive(topics, group, broker, arrived)


def _timestamp_of(message: Any) -> int | None:
    kind, timestamp = message.timestamp()
    return timestamp if kind else None  # 0: there is none


INSTRUMENTATION = Instrumentation(
    name="confluent-kafka",
    module="confluent_kafka",
    distribution="confluent-kafka",
    hook=_hook,
    versions=">=2.0.2,<3",
    plugins=("sw_confluent_kafka",),
    opentelemetry=("confluent_kafka",),
    shows_calls=True,
)
