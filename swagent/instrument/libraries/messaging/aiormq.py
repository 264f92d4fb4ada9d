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
from ...arguments import Args, Kwargs
from ...instrumentation import Instrumentation
from ...patches import Patches, home_of
from ...rewriting import rewriting_argument
from ...wrapping import around_call
from .inbox import ending_last, handing_out, leave_to_caller
from .message_call import add_to_mapping
from .rabbitmq_call import begin_delivery, begin_publish

_ROBUST = "aio_pika.robust_queue"
_COLLECTS = "QueueIterator.on_message"


def _hook_aiormq(module: Any, patches: Patches) -> None:
    channel, carry = module.Channel, partial(_carry, module.spec.Basic.Properties)
    patches.wrap(channel, "basic_publish", around_call(_begin_publish, rewrite=carry))
    # its second argument, behind the channel itself
    patches.wrap(channel, "basic_consume", rewriting_argument(2, "consumer_callback", _recording))
    patches.wrap(channel, "basic_get", handing_out(_begin_fetched))
    patches.wrap(home_of(channel, "close"), "close", ending_last)


def _hook_aio_pika(module: Any, patches: Patches) -> None:
    if module.__name__ == _ROBUST:
        # its own, since aio-pika 9.6
        if "__anext__" in vars(module.RobustQueueIterator):
            patches.wrap(module.RobustQueueIterator, "__anext__", handing_out(_begin_iterated))
        return
    patches.wrap(module.QueueIterator, "__anext__", handing_out(_begin_iterated))
    patches.wrap(module.QueueIterator, "close", ending_last)
    # for `swagent.messages.consume`
    patches.set(module.QueueIterator, "swagent_leaves_to_caller", leave_to_caller)


def _begin_publish(channel: Any, _: Args, kwargs: Kwargs) -> Span | None:
    # all but the body are given by name
    return begin_publish(kwargs.get("exchange", ""), kwargs.get("routing_key", ""), _broker_of(channel))


def _carry(
    make_properties: Callable[..., Any], span: Span | None, _: object, args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:  # fmt: skip
    properties = _carrying(kwargs.get("properties"), span, make_properties)
    return args, kwargs if properties is None else {**kwargs, "properties": properties}


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


def _recording(callback: Any) -> Any:
    """A callback that records, whether it is a coroutine function or not."""
    if not callable(callback) or _collects(callback):
        return callback

    async def answered(message: Any) -> Any:
        answer = callback(message)
        return await answer if inspect.isawaitable(answer) else answer

    return around_call(_begin_called)(answered)


def _collects(callback: Any) -> bool:
    # what it hands over is wrapped with this
    arguments: Any = getattr(callback, "args", None) or (callback,)
    name: Any = getattr(arguments[0], "__qualname__", "")
    return isinstance(name, str) and name.endswith(_COLLECTS)


def _begin_called(message: Any, *_: object) -> Span | None:
    return _begin_delivery(message)


def _begin_iterated(_: object, message: Any, *__: object) -> Span | None:
    return _begin_delivery(message)


def _begin_fetched(_: object, message: Any, *__: object) -> Span | None:
    """For what `get` gives: that there is none has no tag."""
    return _begin_delivery(message) if getattr(message, "delivery_tag", None) is not None else None


def _begin_delivery(message: Any) -> Span | None:
    """For a message of aiormq, and for aio-pika's, which wraps one."""
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
