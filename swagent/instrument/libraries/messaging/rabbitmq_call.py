"""The common parts of the clients of RabbitMQ: names, and the properties of a message."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....record.bounded_cache import remembered
from ....record.limits import as_text
from ....record.trace.model import Component
from ....record.trace.span import Span
from .message_call import begin_receive, begin_send


class SentMessage(NamedTuple):
    """A message, as the application sends it and `on_request` sees it."""

    exchange: str
    routing_key: str
    body: bytes
    properties: Any


def begin_publish(exchange: Any, routing_key: Any, broker: str) -> Span | None:
    """Begin the exit span of a message, as `begin_send`. The default exchange has no name."""
    exchange, key = as_text(exchange), as_text(routing_key)
    return begin_send(f"{_name_of(exchange, key)}/Producer", broker, Component.RABBITMQ_PRODUCER, exchange, key)


def begin_delivery(exchange: Any, routing_key: Any, broker: str, headers: Any) -> Span | None:
    """Begin the entry span of a message, as `begin_receive`.

    :param headers: the message's, if it has any
    """
    exchange, key = as_text(exchange), as_text(routing_key)
    name = f"{_name_of(exchange, key)}/Consumer"
    return begin_receive(name, Component.RABBITMQ_CONSUMER, ({"headers": headers},), broker, exchange, key)


@remembered(1024)
def _name_of(exchange: str, key: str) -> str:
    return f"RabbitMQ/Topic/{exchange}/Queue/{key}"
