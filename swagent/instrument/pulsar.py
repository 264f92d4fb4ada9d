"""Pulsar, by its C++ client: a producer's `send` and `send_async`, a consumer's and a reader's ways to receive, and
listeners; `pulsar.asyncio` likewise.

An exit span lasts until the broker has acknowledged the message. What was received has an entry span until the next is
asked for, or the consumer is closed; what a listener gets, for as long as the listener takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..record.limits import as_text
from ..record.trace.model import Component
from ..record.trace.span import Span
from .call import end_call, safely
from .inbox import end_last, ending_last, hand_out
from .instrumentation import Instrumentation
from .message_call import add_to_mapping, begin_receive, begin_send
from .patches import Patches
from .wrapping import await_in, call_in, end_well

_BROKER = "_swagent_broker"
_ASYNCIO = "pulsar.asyncio"
_PARTITION = re.compile(r"-partition-\d+\Z")


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _ASYNCIO:
        _hook_asyncio(module, patches)
        return
    patches.wrap(module.Client, "__init__", _around_init)
    for name in ("create_producer", "subscribe", "create_reader"):
        patches.wrap(module.Client, name, _around_make)
    patches.wrap(module.Producer, "send", _around_send)
    patches.wrap(module.Producer, "send_async", _around_send_async)
    patches.wrap(module.Consumer, "receive", _around_receive)
    patches.wrap(module.Consumer, "batch_receive", _around_batch_receive)
    patches.wrap(module.Consumer, "close", ending_last)
    patches.wrap(module.Reader, "read_next", _around_receive)
    patches.wrap(module.Reader, "close", ending_last)


def _hook_asyncio(module: Any, patches: Patches) -> None:
    patches.wrap(module.Client, "__init__", _around_init)
    patches.wrap(module.Client, "create_producer", _around_async_make)
    patches.wrap(module.Producer, "send", _around_async_send)
    # each came with a later version
    for kind, make, receive in (("Consumer", "subscribe", "receive"), ("Reader", "create_reader", "read_next")):
        if hasattr(module, kind):
            patches.wrap(module.Client, make, _around_async_make)
            patches.wrap(getattr(module, kind), receive, _around_async_receive)
            patches.wrap(getattr(module, kind), "close", ending_last)


# -- whom they talk to ------------------------------------------------------------------------------------------------


def _around_init(init: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, service_url: Any, *args: Any, **kwargs: Any) -> None:
        self.__dict__[_BROKER] = safely(_address_in, service_url) or "pulsar"
        init(self, service_url, *args, **kwargs)

    return traced


def _address_in(url: Any) -> str:
    """Of `pulsar://host:port,host:port`; an object that fails over has none that lasts."""
    return ";".join(url.rpartition("//")[2].rstrip("/").split(",")) if isinstance(url, str) else "pulsar"


def _around_make(make: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        broker = self.__dict__.get(_BROKER, "")
        for name in ("message_listener", "reader_listener"):
            if kwargs.get(name) is not None:
                kwargs[name] = _around_listener(kwargs[name], broker)
        made = make(self, *args, **kwargs)
        made.__dict__[_BROKER] = broker
        return made

    return traced


def _around_async_make(make: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = await make(self, *args, **kwargs)
        made.__dict__[_BROKER] = self.__dict__.get(_BROKER, "")
        return made

    return traced


# -- sending ----------------------------------------------------------------------------------------------------------


def _around_send(send: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, content: Any, properties: Any = None, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin_send, self)
        properties = safely(add_to_mapping, properties, span) or properties
        return call_in(span, end_well, end_call, send, self, content, properties, *args, **kwargs)

    return traced


def _around_async_send(send: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, content: Any, properties: Any = None, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin_send, self)
        properties = safely(add_to_mapping, properties, span) or properties
        return await await_in(span, end_well, end_call, send, self, content, properties, *args, **kwargs)

    return traced


def _around_send_async(send: Callable[..., Any]) -> Callable[..., Any]:
    def traced(
        self: Any, content: Any, callback: Any, properties: Any = None, *args: Any, **kwargs: Any
    ) -> None:  # fmt: skip
        span = safely(_begin_send, self)
        properties = safely(add_to_mapping, properties, span) or properties
        if span is None:
            send(self, content, callback, properties, *args, **kwargs)
            return

        def delivered(result: Any, message_id: Any) -> None:
            safely(_end_with, span, result)
            callback(result, message_id)

        try:
            send(self, content, delivered, properties, *args, **kwargs)
        except BaseException as error:
            safely(end_call, span, error)
            raise
        safely(span.step_aside)

    return traced


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
        hand_out(self, _begin_receive, self.__dict__.get(_BROKER, ""), (message,))
        return message

    return traced


def _around_async_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any) -> Any:
        end_last(self)
        message = await receive(self)
        hand_out(self, _begin_receive, self.__dict__.get(_BROKER, ""), (message,))
        return message

    return traced


def _around_batch_receive(receive: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any) -> Any:
        end_last(self)
        messages = receive(self)
        if messages:
            hand_out(self, _begin_receive, self.__dict__.get(_BROKER, ""), messages)
        return messages

    return traced


def _around_listener(listener: Callable[..., Any], broker: str) -> Callable[..., Any]:
    def traced(consumer: Any, message: Any) -> None:
        span = safely(_begin_receive, broker, (message,))
        try:
            listener(consumer, message)
        except BaseException as error:
            if span is not None:
                safely(end_call, span, error)
            raise
        if span is not None:
            safely(end_call, span)

    return traced


def _begin_receive(broker: str, messages: Any) -> Span | None:
    name, topic = _names(as_text(messages[0].topic_name()), "Consumer")
    headers = [{"headers": message.properties()} for message in messages]
    return begin_receive(name, Component.PULSAR_CONSUMER, headers, broker, topic)


@lru_cache(1024)
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
