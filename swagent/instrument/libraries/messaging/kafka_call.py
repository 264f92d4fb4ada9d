"""The common parts of the clients of Kafka: names, addresses, and spans that last until the delivery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ....record.bounded_cache import remembered
from ....record.trace.model import Component
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from .message_call import begin_receive, begin_send


class SentRecord(NamedTuple):
    """A record, as the application sends it and `on_request` sees it."""

    topic: str
    value: Any
    key: Any
    headers: Any


def record_of(*names: str) -> Callable[[Any, Args, Kwargs], SentRecord]:
    """Makes the function that finds a record among the arguments of a method.

    :param names: of the method's arguments, in their order
    """
    places = [(names.index(field), field) for field in SentRecord._fields]
    return lambda _, args, kwargs: SentRecord(*(argument(args, kwargs, *place) for place in places))


def begin_kafka_send(topic: str, broker: str) -> Span | None:
    """Begin the exit span of a record, as `begin_send`."""
    return begin_send(_producer_name(topic), broker, Component.KAFKA_PRODUCER, topic)


def begin_kafka_receive(topics: Iterable[str], group: Any, broker: str, messages: Sequence[Any]) -> Span | None:
    """Begin the entry span of a record or of a batch of them, as `begin_receive`.

    :param group: the name of the group of consumers, if there is one
    """
    name, topic = _consumer_names(tuple(dict.fromkeys(topics)), group)
    return begin_receive(name, Component.KAFKA_CONSUMER, messages, broker, topic)


def joined_addresses(servers: Any) -> str:
    """The servers that a client was given, a text with commas or a list, as one peer."""
    if isinstance(servers, str):
        servers = servers.split(",")
    return ";".join(str(server).strip() for server in servers)


def takes_headers(version: Any) -> bool:
    """Whether a broker does, by the version of its protocol, where the client knows it: before 0.11 none did."""
    return not isinstance(version, tuple) or version >= (0, 11)  # pyright: ignore[reportUnknownVariableType]


@remembered(1024)
def _producer_name(topic: str) -> str:
    return f"Kafka/{topic}/Producer"


@remembered(1024)
def _consumer_names(topics: tuple[str, ...], group: Any) -> tuple[str, str]:
    topic = ";".join(sorted(topics))
    return (f"Kafka/{topic}/Consumer/{group}" if group else f"Kafka/{topic}/Consumer"), topic
