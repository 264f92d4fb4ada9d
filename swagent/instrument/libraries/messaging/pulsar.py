"""Pulsar, by its C++ client: a producer's `send` and `send_async`, a consumer's and a reader's ways to receive, and
listeners; `pulsar.asyncio` likewise.

An exit span lasts until the broker has acknowledged the message. What was received has an entry span until the next is
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
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...wrapping import after_call, await_in, before_call, call_in, end_well
from .inbox import end_last, ending_last, hand_out
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
    patches.wrap(module.Client, "subscribe", partial(_around_make, (4, "message_listener")))
    patches.wrap(module.Client, "create_reader", partial(_around_make, (3, "reader_listener")))
    patches.wrap(module.Producer, "send", _around_send)
    patches.wrap(module.Producer, "send_async", _around_send_async)
    patches.wrap(module.Consumer, "receive", _around_receive)
    patches.wrap(module.Consumer, "batch_receive", _around_batch_receive)
    patches.wrap(module.Consumer, "close", ending_last)
    patches.wrap(module.Reader, "read_next", _around_receive)
    patches.wrap(module.Reader, "close", ending_last)


def _hook_asyncio(module: Any, patches: Patches) -> None:
    patches.wrap(module.Client, "__init__", before_call(_note_broker))
    patches.wrap(module.Client, "create_producer", after_call(_pass_on_broker))
    patches.wrap(module.Producer, "send", _around_async_send)
    # each came with a later version
    for kind, make, receive in (("Consumer", "subscribe", "receive"), ("Reader", "create_reader", "read_next")):
        if hasattr(module, kind):
            patches.wrap(module.Client, make, after_call(_pass_on_broker))
            patches.wrap(getattr(module, kind), receive, _around_async_receive)
            patches.wrap(getattr(module, kind), "close", ending_last)


# -- whom they talk to ------------------------------------------------------------------------------------------------


def _note_broker(client: Any, args: Args, kwargs: Kwargs) -> None:
    client.__dict__[_BROKER] = _address_in(argument(args, kwargs, 0, "service_url"))


def _address_in(url: Any) -> str:
    """Of `pulsar://host:port,host:port`; an object that fails over has none that lasts."""
    return ";".join(url.rpartition("//")[2].rstrip("/").split(",")) if isinstance(url, str) else "pulsar"


def _around_make(listener: tuple[int, str], make: Callable[..., Any]) -> Callable[..., Any]:
    """:param listener: its place among the arguments, and its name there"""

    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = safely(_with_listener, self, args, kwargs, *listener) or (args, kwargs)
        made = make(self, *args, **kwargs)
        safely(_pass_on_broker, self, made)
        return made

    return traced


def _with_listener(client: Any, args: Args, kwargs: Kwargs, place: int, name: str) -> tuple[Args, Kwargs]:
    """The arguments with a listener that records, where there is something to change."""
    listener = argument(args, kwargs, place, name)
    if not callable(listener):
        return args, kwargs
    return with_argument(args, kwargs, place, name, _around_listener(listener, client.__dict__.get(_BROKER, "")))


def _pass_on_broker(client: Any, made: Any, *_: object) -> None:
    made.__dict__[_BROKER] = client.__dict__.get(_BROKER, "")


# -- sending ----------------------------------------------------------------------------------------------------------


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin_send, self)
        args, kwargs = safely(_with_properties, args, kwargs, 1, span) or (args, kwargs)
        return call_in(span, end_well, end_call, send, self, *args, **kwargs)

    return traced


def _around_async_send(send: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin_send, self)
        args, kwargs = safely(_with_properties, args, kwargs, 1, span) or (args, kwargs)
        return await await_in(span, end_well, end_call, send, self, *args, **kwargs)

    return traced


def _around_send_async(send: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin_send, self)
        args, kwargs = safely(_with_properties, args, kwargs, 2, span) or (args, kwargs)
        callback = argument(args, kwargs, 1, "callback")
        if span is None or not callable(callback):
            return call_in(span, end_well, end_call, send, self, *args, **kwargs)

        def delivered(*outcome: Any) -> Any:
            # the client's word, and the message's id
            safely(_end_with, span, *outcome[:1])
            return callback(*outcome)

        args, kwargs = with_argument(args, kwargs, 1, "callback", delivered)
        return call_in(span, _step_aside, end_call, send, self, *args, **kwargs)

    return traced


def _step_aside(span: Span, _: object) -> None:
    span.step_aside()


def _with_properties(args: Args, kwargs: Kwargs, place: int, span: Span | None) -> tuple[Args, Kwargs]:
    """The arguments with the context in the properties, where there is something to change."""
    properties = argument(args, kwargs, place, "properties")
    added = add_to_mapping(properties, span)
    return (args, kwargs) if added is properties else with_argument(args, kwargs, place, "properties", added)


def _begin_send(producer: Any) -> Span | None:
    name, topic = _names(as_text(producer.topic()), "Producer")
    return begin_send(name, producer.__dict__.get(_BROKER, ""), Component.PULSAR_PRODUCER, topic)


def _end_with(span: Span, result: Any) -> None:
    """End a span with the client's word on a delivery, which is no exception."""
    text = as_text(result)
    if not text.endswith("Ok"):
        span.error().log(**{"event": "error", "error.kind": "pulsar.Result", "message": text})
    span.stop()


# -- receiving --------------------------------------------------------------------------------------------------------


def _around_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        message = receive(self, *args, **kwargs)
        hand_out(self, _begin_received, self, (message,))
        return message

    return traced


def _around_async_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        message = await receive(self, *args, **kwargs)
        hand_out(self, _begin_received, self, (message,))
        return message

    return traced


def _around_batch_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        messages = receive(self, *args, **kwargs)
        hand_out(self, _begin_received, self, messages)
        return messages

    return traced


def _around_listener(listener: Callable[..., Any], broker: str) -> Callable[..., Any]:
    def traced(*args: Any) -> Any:
        # the consumer and the message
        span = safely(_begin_receive, broker, args[1:])
        return call_in(span, end_well, end_call, listener, *args)

    return traced


def _begin_received(consumer: Any, messages: Any) -> Span | None:
    return _begin_receive(consumer.__dict__.get(_BROKER, ""), messages) if messages else None


def _begin_receive(broker: str, messages: Any) -> Span | None:
    name, topic = _names(as_text(messages[0].topic_name()), "Consumer")
    headers = [{"headers": message.properties()} for message in messages]
    return begin_receive(name, Component.PULSAR_CONSUMER, headers, broker, topic)


@remembered(1024)
def _names(topic: str, role: str) -> tuple[str, str]:
    """A span's name, and the topic without the partition, which the client tells apart for itself."""
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
