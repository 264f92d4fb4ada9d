"""amqp, which is py-amqp, and kombu, which sends and receives through it: `basic_publish`, `basic_consume`, `basic_get`
and `get` of kombu's simple queues.

A message that a callback gets has an entry span for as long as the callback takes. One that was fetched has it until
the next one is asked for, or the channel or the simple queue is closed. Celery's messages are left to Celery's own
instrumentation.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument, with_changed
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...rewriting import rewriting_argument
from ...showing import showing_received, showing_request
from ...wrapping import Begin, around_call
from .inbox import ending_last, handing_out
from .message_call import add_to_mapping
from .rabbitmq_call import SentMessage, begin_delivery, begin_publish

_HEADERS = "application_headers"
_KOMBU = "kombu.messaging"
_SIMPLE = "kombu.simple"
# what these get in a callback is theirs, or goes on to the application later
_SORTING = frozenset(("celery", "kombu"))


def _hook(module: Any, patches: Patches) -> None:
    listeners = patches.listeners
    if module.__name__ == _SIMPLE:
        fetched = showing_received(listeners.on_response, _begin_handed_out)
        patches.wrap(module.SimpleBase, "get", handing_out(fetched))
        patches.wrap(module.SimpleBase, "close", ending_last)
        return
    channel = module.Channel
    publish = around_call(showing_request(listeners.on_request, _begin_publish, _message_of), rewrite=_carry)
    patches.wrap(channel, "basic_publish", publish)
    # the one that waits for the broker's word; a channel has it in the place of the other
    patches.wrap(channel, "basic_publish_confirm", publish)
    called = showing_request(listeners.on_response, _begin_called, _received)
    # its eighth argument, the channel itself counted
    patches.wrap(channel, "basic_consume", rewriting_argument(7, "callback", partial(_recording, called)))
    patches.wrap(channel, "basic_get", handing_out(showing_received(listeners.on_response, _begin_fetched)))
    patches.wrap(channel, "close", ending_last)


def _begin_publish(channel: Any, args: Args, kwargs: Kwargs) -> Span | None:
    if channel.connection is None:
        return None  # it is closed, and knows no broker any more
    exchange, routing_key = argument(args, kwargs, 1, "exchange", ""), argument(args, kwargs, 2, "routing_key", "")
    return begin_publish(exchange, routing_key, _broker_of(channel))


def _message_of(_: object, args: Args, kwargs: Kwargs) -> SentMessage:
    message = argument(args, kwargs, 0, "msg")
    exchange, routing_key = argument(args, kwargs, 1, "exchange", ""), argument(args, kwargs, 2, "routing_key", "")
    return SentMessage(exchange, routing_key, message.body, message.properties)


def _carry(span: Span | None, _: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    return with_changed(args, kwargs, 0, "msg", partial(_carrying, span))


def _carrying(span: Span | None, message: Any) -> Any:
    properties: Any = getattr(message, "properties", None)
    if properties is None:
        return message  # it is no message, and the library will say so
    headers = properties.get(_HEADERS)
    added = add_to_mapping(headers, span)
    return message if added is headers else _Carrying(message, added)


class _Carrying:
    """The application's message, which is written with more headers than it has. It is no copy: the library notes the
    encoding of a text in the message that it gets, and the application may look for it there."""

    def __init__(self, message: Any, headers: dict[str, Any]) -> None:
        self._message = message
        self._headers = headers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)

    def _serialize_properties(self) -> bytes:
        """Asked by the library for what it writes."""
        written = copy.copy(self._message)
        written.properties = {**self._message.properties, _HEADERS: self._headers}
        serialized: bytes = written._serialize_properties()  # noqa: SLF001  (the library's own name for it)
        return serialized


def _recording(begin: Begin, callback: Any) -> Any:
    """A callback that records; None is one that the library replaces by its own."""
    return around_call(partial(_begin_unless_sorted, begin, callback))(callback) if callable(callback) else callback


def _begin_unless_sorted(begin: Begin, callback: Any, message: Any, args: Args, kwargs: Kwargs) -> Span | None:
    # asked for each message: a consumer of kombu may get its functions later
    return None if _only_sorts(callback) else begin(message, args, kwargs)


def _only_sorts(callback: Any) -> bool:
    """Whether none of the functions that a message is for is the application's."""
    if getattr(callback, "__module__", None) != _KOMBU:
        return False
    consumer = callback.__self__
    functions = [consumer.on_message] if consumer.on_message else consumer.callbacks
    return bool(functions) and all(_package_of(each) in _SORTING for each in functions)


def _package_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    module: str | None = getattr(function, "__module__", None)
    return (module or "").partition(".")[0]


def _received(message: Any, *_: object) -> Any:
    return message


def _begin_called(message: Any, *_: object) -> Span | None:
    return _begin_delivery(message)


def _begin_fetched(_: object, message: Any, *__: object) -> Span | None:
    return _begin_delivery(message)


def _begin_handed_out(_: object, message: Any, *__: object) -> Span | None:
    """For a message of kombu, which has other transports, too: their channels have no such method."""
    return _begin_delivery(message) if hasattr(message.channel, "basic_publish_confirm") else None


def _begin_delivery(message: Any) -> Span | None:
    place = message.delivery_info
    headers = message.properties.get(_HEADERS)
    return begin_delivery(place["exchange"], place["routing_key"], _broker_of(message.channel), headers)


def _broker_of(channel: Any) -> str:
    host: str = channel.connection.host
    # as the library, which knows no other port
    return host if ":" in host.rpartition("]")[2] else f"{host}:5672"


INSTRUMENTATION = Instrumentation(
    name="amqp",
    module="amqp.channel",
    also=(_SIMPLE,),
    distribution="amqp",
    hook=_hook,
    versions=">=5,<6",
    plugins=("sw_amqp",),
    shows_calls=True,
)
