"""pika: `basic_publish`, the callbacks of `basic_consume`, and the blocking channel's `consume` and `basic_get`.

The blocking channel sends through the other one, which writes the headers; but only the former knows what came of it.
A message that a callback gets has an entry span for as long as the callback takes. One that was fetched has it until
the next one is asked for, or the channel is closed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...wrapping import call_in, end_well
from .inbox import Inbox, end_last, ending_last, hand_out
from .message_call import add_to_mapping
from .rabbitmq_call import begin_delivery, begin_publish

_BLOCKING = "pika.adapters.blocking_connection"
_PROPERTIES = 3  # their place among the arguments of `basic_publish`


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _BLOCKING:
        channel = module.BlockingChannel
        patches.wrap(channel, "basic_publish", partial(_around_publish, None))
        patches.wrap(channel, "basic_get", _around_get)
        patches.wrap(channel, "consume", _around_generator)
        patches.wrap(channel, "close", ending_last)
    else:
        channel = module.Channel
        patches.wrap(channel, "basic_publish", partial(_around_publish, module.spec.BasicProperties))
    patches.wrap(channel, "basic_consume", _around_consume)


def _around_publish(make_properties: Any, publish: Callable[..., Any]) -> Callable[..., Any]:
    """:param make_properties: None: they are written further in"""

    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin_publish, self, args, kwargs)
        if make_properties is not None:
            args, kwargs = safely(_with_properties, args, kwargs, span, make_properties) or (args, kwargs)
        return call_in(span, end_well, end_call, publish, self, *args, **kwargs)

    return traced


def _begin_publish(channel: Any, args: Args, kwargs: Kwargs) -> Span | None:
    exchange, routing_key = argument(args, kwargs, 0, "exchange"), argument(args, kwargs, 1, "routing_key")
    return begin_publish(exchange, routing_key, _broker_of(channel))


def _with_properties(
    args: Args, kwargs: Kwargs, span: Span | None, make: Callable[..., Any]
) -> tuple[Args, Kwargs]:  # fmt: skip
    properties = argument(args, kwargs, _PROPERTIES, "properties")
    carrying = _carrying(properties, span, make)
    return (
        (args, kwargs) if carrying is properties else with_argument(args, kwargs, _PROPERTIES, "properties", carrying)
    )


def _broker_of(channel: Any) -> str:
    parameters = getattr(channel, "_impl", channel).connection.params
    return f"{parameters.host}:{parameters.port}"


def _carrying(properties: Any, span: Span | None, make: Callable[..., Any]) -> Any:
    """The properties with the context's headers in a copy: the application may use its own for many messages."""
    headers = properties.headers if properties is not None else None
    added = add_to_mapping(headers, span)
    if added is headers:
        return properties
    properties = copy.copy(properties) if properties is not None else make()
    properties.headers = added
    return properties


def _around_consume(consume: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = safely(_with_callback, args, kwargs) or (args, kwargs)
        return consume(self, *args, **kwargs)

    return traced


def _with_callback(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with a callback that records, where there is something to change."""
    callback = argument(args, kwargs, 1, "on_message_callback")
    # what the blocking channel registers only sorts
    if not callable(callback) or type(getattr(callback, "__self__", None)).__module__ == _BLOCKING:
        return args, kwargs
    return with_argument(args, kwargs, 1, "on_message_callback", _around_callback(callback))


def _around_callback(callback: Callable[..., Any]) -> Callable[..., Any]:
    def traced(*args: Any, **kwargs: Any) -> Any:
        # channel, method, properties and body
        span = safely(lambda: _begin_delivery(*args[:3]))
        return call_in(span, end_well, end_call, callback, *args, **kwargs)

    return traced


def _around_generator(consume: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        inbox = Inbox()
        try:
            for message in consume(self, *args, **kwargs):
                safely(inbox.hand_out, _begin_fetched, self, message)
                yield message
                safely(inbox.end)
        finally:
            safely(inbox.end)

    return traced


def _around_get(get: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        message = get(self, *args, **kwargs)
        hand_out(self, _begin_fetched, self, message)
        return message

    return traced


def _begin_fetched(channel: Any, message: Any) -> Span | None:
    method, properties, _ = message
    # there was none
    return None if method is None else _begin_delivery(channel, method, properties)


def _begin_delivery(channel: Any, method: Any, properties: Any) -> Span | None:
    return begin_delivery(method.exchange, method.routing_key, _broker_of(channel), properties.headers)


INSTRUMENTATION = Instrumentation(
    name="pika",
    module="pika.channel",
    also=(_BLOCKING,),
    distribution="pika",
    hook=_hook,
    versions=">=1,<2",
    plugins=("sw_rabbitmq",),
    opentelemetry=("pika",),
)
