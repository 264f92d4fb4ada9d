"""Messages that come in: `from swagent.messages import consume`.

`async for message in consume(consumer): ...` gives each message an entry span, which continues the producer's trace and
is active while the body of the loop works on it.

It is no async generator, but an object with `__anext__`: the loop lets go of it as soon as it is left, be it by
`break`, by an exception or a cancellation, and then the last span ends at once. A generator would be closed by the
event loop somewhat later, in a task of its own, and what the application does meanwhile would count to a message that
is done.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Generic, TypeVar

from .agent_log import RateLimitedLog
from .record.foreign import must_reach_application
from .record.limits import address_of, as_text
from .record.trace.model import Component, Layer
from .record.trace.span import Span
from .record.trace.spans import entry_span
from .record.trace.tracer import running
from .record.trace.transmission import HEADER, TAG, latency_of, read_sent_time, time_of_record, time_of_stream_id

T = TypeVar("T")
_limited = RateLimitedLog()
_MAX_HEADERS = 256


def consume(
    source: AsyncIterable[T],
    *,
    name: str | None = None,
    group: str | None = None,
    broker: str | None = None,
    component: int | None = None,
) -> Messages[T]:
    """The messages of a source, each with an entry span. Any async iterable will do, on asyncio and trio.

    The span ends when the next message is asked for, and when the loop ends, however it does. An exception that the
    body of the loop raises does not come here: the span of that message ends without an error. To record it, call
    `current_span().error(exception)`, or wrap the work in a `local_span`. One task at a time may iterate.

    The producer's context is read from the message's headers: those of its attribute `headers`, or of its key of that
    name, as a mapping or as pairs. An entry of a Redis stream, which is a pair of its id and its fields, has them among
    its fields. How long a message was on its way is tagged `transmission.latency` where its time of sending is known.

    :param name: of the operation; without one it is `Kafka/{topic}/Consumer/{group}` where a message has a topic
    :param group: of consumers, where the source does not know it; aiokafka's does
    :param broker: its address, `host:port`
    :param component: of the library; Kafka's where a message has a topic
    """
    return Messages(source, name=name, group=group, broker=broker, component=component)


class Messages(AsyncIterator[T], Generic[T]):
    """The iterator that `consume` returns."""

    def __init__(self, source: AsyncIterable[T], **said: Any) -> None:
        self._span: Span | None = None
        self._source = source
        self._messages = source.__aiter__()
        # one that is instrumented would open a span for each message, too, and knows less; asked of the class, since
        # a foreign object may have any attribute
        leave_to_caller = getattr(type(self._messages), "swagent_leaves_to_caller", None)
        if leave_to_caller is not None:
            leave_to_caller(self._messages)
        self._said = said

    def __aiter__(self) -> Messages[T]:
        return self

    async def __anext__(self) -> T:
        """End the last message's span, wait for the next message, and begin its span."""
        self._end()
        message = await self._messages.__anext__()
        self._begin(message)
        return message

    async def aclose(self) -> None:
        """End the last message's span. A generator that is the source is closed."""
        self._end()
        messages: Any = self._messages
        if inspect.isasyncgen(messages):
            await messages.aclose()

    def __del__(self) -> None:
        with suppress(Exception):
            self._end()

    def _end(self) -> None:
        span, self._span = self._span, None
        if span is not None:
            span.stop()

    def _begin(self, message: Any) -> None:
        try:
            self._span = span = _span_of(message, self._source, **self._said).start()
            tag_latency(span, (message,))
        except BaseException as error:  # noqa: BLE001, RUF100  (a message with a will of its own)
            if must_reach_application(error):
                raise
            _limited.warn("message", "a message went without its span: %s", type(error))


def _span_of(
    message: Any, source: object, *, name: str | None, group: str | None, broker: str | None, component: int | None
) -> Span:
    tracer = running()
    context: dict[str, Any] = {}
    if tracer is not None and tracer.trust_incoming is not False:
        context = context_of(message)
    topic = getattr(message, "topic", None)
    is_kafka = isinstance(topic, str)
    if name is None:
        name = _kafka_name(topic, group or getattr(source, "_group_id", None)) if is_kafka else "Consumer"
    if component is None:
        component = Component.KAFKA_CONSUMER if is_kafka else Component.UNKNOWN
    span = entry_span(name, component=component, layer=Layer.MQ, **context)
    tags = {"mq.broker": address_of(broker) if broker is not None else None, "mq.topic": topic if is_kafka else None}
    # not by `tag`, which is for a span that has begun
    span.tags = [(key, as_text(value)) for key, value in tags.items() if value is not None]
    return span


def _kafka_name(topic: Any, group: Any) -> str:
    return f"Kafka/{topic}/Consumer/{group}" if isinstance(group, str) and group else f"Kafka/{topic}/Consumer"


def context_of(message: Any) -> dict[str, Any]:
    """The context that the producer sent along with a message, by its attribute or key `headers`: `sw8`,
    `correlation`, `traceparent` and `tracestate`, as `entry_span` takes them.

    Of two headers of one name it is not known which is right, and none counts.
    """
    sent: dict[str, list[Any]] = {"sw8": [], "sw8-correlation": [], "traceparent": [], "tracestate": []}
    for key, value in islice(_headers_of(message), _MAX_HEADERS):
        name = key.decode("latin-1") if isinstance(key, bytes) else as_text(key)
        sent.get(name.lower(), []).append(value)
    sw8, correlation, traceparent, state = (values[0] if len(values) == 1 else None for values in sent.values())
    return {"sw8": sw8, "correlation": correlation, "traceparent": traceparent, "tracestate": state}


def tag_latency(span: Span, messages: Iterable[Any]) -> None:
    """Tag the span of a message or a batch with how long it was on its way, where that is known.

    :param messages: as `context_of` takes them
    """
    segment = span.segment
    if segment is None:
        return
    is_trusted = segment.tracer.trust_incoming is not False
    latency = latency_of((_sent_time_of(message, is_trusted) for message in messages), span.start_time)
    if latency is not None:
        span.tag(TAG, latency)


def _sent_time_of(message: Any, is_trusted: bool) -> int | None:
    """When a message was sent, in milliseconds since the epoch: by its sender's agent, or by its broker."""
    if is_trusted:
        values = [value for key, value in islice(_headers_of(message), _MAX_HEADERS) if key in _SENT]
        sent = read_sent_time(values[0]) if len(values) == 1 else None
        if sent is not None:
            return sent
    return time_of_stream_id(message[0]) if _is_stream_entry(message) else time_of_record(message)


_SENT = (HEADER, HEADER.encode())


def _is_stream_entry(message: Any) -> bool:
    return type(message) in (tuple, list) and len(message) == 2 and _is(message[1], Mapping)


def _headers_of(message: Any) -> Iterator[tuple[Any, Any]]:
    if _is_stream_entry(message):
        yield from message[1].items()
        return
    headers: Any = message.get("headers") if _is(message, Mapping) else getattr(message, "headers", None)
    if _is(headers, Mapping):
        yield from headers.items()
    elif _is(headers, Iterable):
        for pair in headers:
            if _is(pair, (tuple, list)) and len(pair) == 2:
                yield pair[0], pair[1]


def _is(value: Any, kind: Any) -> bool:
    """As `isinstance`, but a type checker concludes nothing from it: it would conclude too little."""
    return isinstance(value, kind)
