"""aiormq, and aio-pika, which sends and receives through it: `basic_publish`, `basic_consume` and `basic_get`.

A message that a callback gets has an entry span for as long as the callback takes. One that was fetched by `get` has it
until the channel's next `get`, or its end. aio-pika's iterator collects messages by a callback and hands them out
later: there it is from one to the next.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...patches import Patches, home_of
from ...wrapping import await_in, end_well
from .inbox import end_last, ending_last, hand_out, leave_to_caller
from .message_call import add_to_mapping
from .rabbitmq_call import begin_delivery, begin_publish

_ROBUST = "aio_pika.robust_queue"
_COLLECTS = "QueueIterator.on_message"


def _hook_aiormq(module: Any, patches: Patches) -> None:
    channel = module.Channel
    patches.wrap(channel, "basic_publish", partial(_around_publish, module.spec.Basic.Properties))
    patches.wrap(channel, "basic_consume", _around_consume)
    patches.wrap(channel, "basic_get", _around_get)
    patches.wrap(home_of(channel, "close"), "close", ending_last)


def _hook_aio_pika(module: Any, patches: Patches) -> None:
    if module.__name__ == _ROBUST:
        # its own, since aio-pika 9.6
        if "__anext__" in vars(module.RobustQueueIterator):
            patches.wrap(module.RobustQueueIterator, "__anext__", _around_anext)
        return
    patches.wrap(module.QueueIterator, "__anext__", _around_anext)
    patches.wrap(module.QueueIterator, "close", ending_last)
    # for `swagent.messages.consume`
    patches.set(module.QueueIterator, "swagent_leaves_to_caller", leave_to_caller)


def _around_publish(make_properties: Callable[..., Any], publish: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        # all but the body are given by name
        span = safely(_begin_publish, self, kwargs)
        properties = safely(_carrying, kwargs.get("properties"), span, make_properties)
        if properties is not None:
            kwargs["properties"] = properties
        return await await_in(span, end_well, end_call, publish, self, *args, **kwargs)

    return traced


def _begin_publish(channel: Any, arguments: dict[str, Any]) -> Span | None:
    return begin_publish(arguments.get("exchange", ""), arguments.get("routing_key", ""), _broker_of(channel))


def _broker_of(channel: Any) -> str:
    url = channel.connection.url
    return f"{url.host}:{url.port}"


def _carrying(properties: Any, span: Span | None, make: Callable[..., Any]) -> Any:
    """The properties with the context's headers in a copy: the application may use its own for many messages."""
    headers = properties.headers if properties is not None else None
    added = add_to_mapping(headers, span)
    if added is headers:
        return properties
    # without any, the library would make these
    properties = copy.copy(properties) if properties is not None else make(delivery_mode=1)
    properties.headers = added
    return properties


def _around_consume(consume: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = safely(_with_callback, args, kwargs) or (args, kwargs)
        return await consume(self, *args, **kwargs)

    return traced


def _with_callback(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with a callback that records, where there is something to change."""
    callback = argument(args, kwargs, 1, "consumer_callback")
    if not callable(callback) or _collects(callback):
        return args, kwargs
    return with_argument(args, kwargs, 1, "consumer_callback", _around_callback(callback))


def _collects(callback: Any) -> bool:
    # what it hands over is wrapped with this
    arguments: Any = getattr(callback, "args", None) or (callback,)
    name: Any = getattr(arguments[0], "__qualname__", "")
    return isinstance(name, str) and name.endswith(_COLLECTS)


def _around_callback(callback: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(message: Any) -> Any:
        return await await_in(safely(_begin_delivery, message), end_well, end_call, answered, message)

    async def answered(message: Any) -> Any:
        answer = callback(message)
        return await answer if inspect.isawaitable(answer) else answer

    return traced


def _around_get(get: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        message = await get(self, *args, **kwargs)
        hand_out(self, _begin_fetched, message)
        return message

    return traced


def _around_anext(ask: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        end_last(self)
        message = await ask(self, *args, **kwargs)
        hand_out(self, _begin_delivery, message)
        return message

    return traced


def _begin_fetched(message: Any) -> Span | None:
    """For what `get` gives: that there is none has no tag."""
    return _begin_delivery(message) if getattr(message, "delivery_tag", None) is not None else None


def _begin_delivery(message: Any) -> Span | None:
    """For a message of aiormq, and for aio-pika's, which stands for one."""
    header = getattr(message, "header", None)
    headers = header.properties.headers if header is not None else message.headers
    return begin_delivery(message.exchange, message.routing_key, _broker_of(message.channel), headers)


INSTRUMENTATIONS = (
    Instrumentation(
        name="aio-pika",
        module="aio_pika.queue",
        also=(_ROBUST,),
        distribution="aio-pika",
        hook=_hook_aio_pika,
        versions=">=9,<11",
        plugins=("sw_aiormq",),
        opentelemetry=("aio-pika",),
    ),
    Instrumentation(
        name="aiormq",
        module="aiormq.channel",
        hook=_hook_aiormq,
        versions=">=6.7.7,<8",
        plugins=("sw_aiormq",),
        opentelemetry=("aio-pika",),
    ),
)
