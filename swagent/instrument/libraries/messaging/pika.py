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
from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...rewriting import rewriting_argument
from ...showing import showing_received, showing_request
from ...wrapping import Begin, around_call
from .inbox import Inbox, Receive, ending_last, handing_out
from .message_call import add_to_mapping
from .rabbitmq_call import SentMessage, begin_delivery, begin_publish

_BLOCKING = "pika.adapters.blocking_connection"
_PROPERTIES = 3  # their place among the arguments of `basic_publish`


def _hook(module: Any, patches: Patches) -> None:
    publish = showing_request(patches.listeners.on_request, _begin_publish, _message_of)
    if module.__name__ == _BLOCKING:
        channel = module.BlockingChannel
        fetched = showing_received(patches.listeners.on_response, _begin_fetched)
        patches.wrap(channel, "basic_publish", around_call(publish))
        patches.wrap(channel, "basic_get", handing_out(fetched))
        patches.wrap(channel, "consume", partial(_around_generator, fetched))
        patches.wrap(channel, "close", ending_last)
    else:
        channel, carry = module.Channel, partial(_carry, module.spec.BasicProperties)
        patches.wrap(channel, "basic_publish", around_call(publish, rewrite=carry))
    called = showing_request(patches.listeners.on_response, _begin_called, _delivery_of)
    # its second argument, behind the channel itself
    patches.wrap(channel, "basic_consume", rewriting_argument(2, "on_message_callback", partial(_recording, called)))


def _begin_publish(channel: Any, args: Args, kwargs: Kwargs) -> Span | None:
    exchange, routing_key = argument(args, kwargs, 0, "exchange"), argument(args, kwargs, 1, "routing_key")
    return begin_publish(exchange, routing_key, _broker_of(channel))


def _message_of(_: object, args: Args, kwargs: Kwargs) -> SentMessage:
    fields = enumerate(SentMessage._fields)
    return SentMessage(*(argument(args, kwargs, place, name) for place, name in fields))


def _delivery_of(_: object, args: Args, __: Kwargs) -> Args:
    """As `basic_get` and `consume` hand a message out."""
    return args


def _carry(
    make_properties: Callable[..., Any], span: Span | None, _: object, args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:  # fmt: skip
    properties = argument(args, kwargs, _PROPERTIES, "properties")
    added = _carrying(properties, span, make_properties)
    return (args, kwargs) if added is properties else with_argument(args, kwargs, _PROPERTIES, "properties", added)


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


def _recording(begin: Begin, callback: Any) -> Any:
    """A callback that records; what the blocking channel registers only sorts."""
    if not callable(callback) or type(getattr(callback, "__self__", None)).__module__ == _BLOCKING:
        return callback
    return around_call(begin)(callback)


def _begin_called(channel: Any, args: Args, _: Kwargs) -> Span | None:
    return _begin_delivery(channel, args[0], args[1])


def _around_generator(begin: Receive, consume: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        inbox = Inbox()
        try:
            for message in consume(self, *args, **kwargs):
                safely(inbox.receive, begin, self, message)
                yield message
                safely(inbox.end)
        finally:
            safely(inbox.end)

    return traced


def _begin_fetched(channel: Any, message: Any, *_: object) -> Span | None:
    method, properties, _body = message
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
    shows_calls=True,
)
