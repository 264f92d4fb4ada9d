"""Pulsar, by its C++ client: a producer's `send` and `send_async`, a consumer's and a reader's ways to receive, and
listeners; `pulsar.asyncio` likewise.

An exit span lasts until the broker has acknowledged the message. A received message has an entry span until the next is
asked for, or the consumer is closed; what a listener gets, for as long as the listener takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ....record.bounded_cache import remembered
from ....record.limits import as_text
from ....record.trace.model import Component
from ....record.trace.span import Span
from ....record.trace.transmission import ArrivedMessage
from ...arguments import Args, Kwargs, argument, with_argument, with_changed
from ...call import safely
from ...instrumentation import Instrumentation
from ...looking import after_call, before_call
from ...patches import Make, Patches
from ...rewriting import rewriting_call
from ...wrapping import around_call
from .inbox import ending_last, handing_out
from .message_call import add_to_mapping, begin_receive, begin_send

_BROKER = "_swagent_broker"
_ASYNCIO = "pulsar.asyncio"
_PARTITION = re.compile(r"-partition-\d+\Z")


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _ASYNCIO:
        _hook_asyncio(module, patches)
        return
    patches.wrap(module.Client, "__init__", before_call(_note_broker))
    patches.wrap(module.Client, "create_producer", after_call(_pass_on_broker))
    patches.wrap(module.Client, "subscribe", _around_making(4, "message_listener"))
    patches.wrap(module.Client, "create_reader", _around_making(3, "reader_listener"))
    patches.wrap(module.Producer, "send", around_call(_begin_send, rewrite=_carry))
    patches.wrap(module.Producer, "send_async", around_call(_begin_send, _sent, rewrite=_carry_and_report))
    patches.wrap(module.Consumer, "receive", handing_out(_begin_one))
    patches.wrap(module.Consumer, "batch_receive", handing_out(_begin_many))
    patches.wrap(module.Consumer, "close", ending_last)
    patches.wrap(module.Reader, "read_next", handing_out(_begin_one))
    patches.wrap(module.Reader, "close", ending_last)


def _hook_asyncio(module: Any, patches: Patches) -> None:
    patches.wrap(module.Client, "__init__", before_call(_note_broker))
    patches.wrap(module.Client, "create_producer", after_call(_pass_on_broker))
    patches.wrap(module.Producer, "send", around_call(_begin_send, rewrite=_carry))
    # each came with a later version
    for kind, make, receive in (("Consumer", "subscribe", "receive"), ("Reader", "create_reader", "read_next")):
        if hasattr(module, kind):
            patches.wrap(module.Client, make, after_call(_pass_on_broker))
            patches.wrap(getattr(module, kind), receive, handing_out(_begin_one))
            patches.wrap(getattr(module, kind), "close", ending_last)


# -- the peer ----------------------------------------------------------------------------------------------------------


def _note_broker(client: Any, args: Args, kwargs: Kwargs) -> None:
    client.__dict__[_BROKER] = _address_in(argument(args, kwargs, 0, "service_url"))


def _address_in(url: Any) -> str:
    """Of `pulsar://host:port,host:port`; an object that fails over has none that lasts."""
    return ";".join(url.rpartition("//")[2].rstrip("/").split(",")) if isinstance(url, str) else "pulsar"


def _around_making(place: int, name: str) -> Make:
    """:param place: the listener's among the arguments, and its name there"""
    noting, listening = after_call(_pass_on_broker), rewriting_call(partial(_with_listener, place, name))
    return lambda make: noting(listening(make))


def _with_listener(place: int, name: str, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    broker = argument(args, kwargs, 0, "self").__dict__.get(_BROKER, "")
    # behind the client itself
    return with_changed(args, kwargs, place + 1, name, partial(_recording, broker))


def _recording(broker: str, listener: Any) -> Any:
    """A listener that records what it gets: the consumer and the message."""
    if not callable(listener):
        return listener
    return around_call(lambda _, args, __: _begin_receive(broker, args))(listener)


def _pass_on_broker(client: Any, made: Any, *_: object) -> None:
    made.__dict__[_BROKER] = client.__dict__.get(_BROKER, "")


# -- sending ----------------------------------------------------------------------------------------------------------


def _carry(span: Span | None, _: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    return _with_properties(args, kwargs, 1, span)


def _with_properties(args: Args, kwargs: Kwargs, place: int, span: Span | None) -> tuple[Args, Kwargs]:
    properties = argument(args, kwargs, place, "properties")
    added = add_to_mapping(properties, span)
    return (args, kwargs) if added is properties else with_argument(args, kwargs, place, "properties", added)


def _carry_and_report(span: Span | None, _: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    args, kwargs = _with_properties(args, kwargs, 2, span)
    callback = argument(args, kwargs, 1, "callback")
    if span is None or not callable(callback):
        return args, kwargs
    return with_argument(args, kwargs, 1, "callback", _Report(span, callback))


class _Report:
    """Called with the client's word on a delivery, and the message's id."""

    def __init__(self, span: Span, callback: Callable[..., Any]) -> None:
        self._span = span
        self._callback = callback

    def __call__(self, *outcome: Any) -> Any:
        safely(_end_with, self._span, *outcome[:1])
        return self._callback(*outcome)


def _sent(span: Span, _: object, __: object, args: Args, kwargs: Kwargs) -> None:
    if isinstance(argument(args, kwargs, 1, "callback"), _Report):
        span.step_aside()
    else:
        span.stop()


def _begin_send(producer: Any, *_: object) -> Span | None:
    name, topic = _names(as_text(producer.topic()), "Producer")
    return begin_send(name, producer.__dict__.get(_BROKER, ""), Component.PULSAR_PRODUCER, topic)


def _end_with(span: Span, result: Any) -> None:
    """End a span with the client's word on a delivery, which is no exception."""
    text = as_text(result)
    if not text.endswith("Ok"):
        span.error().log(**{"event": "error", "error.kind": "pulsar.Result", "message": text})
    span.stop()


# -- receiving --------------------------------------------------------------------------------------------------------


def _begin_one(consumer: Any, message: Any, *_: object) -> Span | None:
    return _begin_receive(consumer.__dict__.get(_BROKER, ""), (message,))


def _begin_many(consumer: Any, messages: Any, *_: object) -> Span | None:
    return _begin_receive(consumer.__dict__.get(_BROKER, ""), messages) if messages else None


def _begin_receive(broker: str, messages: Any) -> Span | None:
    name, topic = _names(as_text(messages[0].topic_name()), "Consumer")
    arrived = [ArrivedMessage(message.properties(), message.publish_timestamp()) for message in messages]
    return begin_receive(name, Component.PULSAR_CONSUMER, arrived, broker, topic)


@remembered(1024)
def _names(topic: str, role: str) -> tuple[str, str]:
    """A span's name, and the topic without the partition, which is the client's own affair."""
    topic = _PARTITION.sub("", topic)
    return f"Pulsar/Topic/{topic}/{role}", topic


INSTRUMENTATION = Instrumentation(
    name="pulsar",
    module="pulsar",
    also=(_ASYNCIO,),
    distribution="pulsar-client",
    hook=_hook,
    versions=">=3.5,<4",
    plugins=("sw_pulsar",),
)
