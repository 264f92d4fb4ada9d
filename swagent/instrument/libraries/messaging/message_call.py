"""Messages: the span of sending one, and the spans of those that come in, the same for every library.

Sending: `begin_send`, then the headers that `sent_along` gives, then `end_call`. Where the library promises the
delivery for later, the span steps aside and ends with the delivery, or with its failure.

Receiving: a library calls the application back for each message, and the span lasts as long as that; or it hands
messages out, and the span lasts until the next one is asked for, see `inbox.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from ....messages import context_of, tag_latency
from ....record.bounded_cache import remembered
from ....record.limits import address_of, describe, name_of, short
from ....record.suppression import suppress_instrumentation
from ....record.trace.carrier import Carrier, parse_correlation, parse_sw8
from ....record.trace.model import Layer, Reference, RefKind, SpanKind
from ....record.trace.span import Span
from ....record.trace.traceparent import Traceparent, parse_traceparent
from ....record.trace.tracer import Tracer, running
from ....record.trace.transmission import HEADER, write_sent_time
from ...call import begin_call, outer_call

_MAX_REFERENCES = 128


def begin_send(name: str, broker: str, component: int, topic: str = "", queue: str = "") -> Span | None:
    """Begin the exit span of a message, and make it the active one. None: nothing is recorded here, or sending is a
    part of another call.

    :param name: such as `Kafka/orders/Producer`
    :param broker: `host:port`; several are joined by a semicolon
    """
    name, peer, tags = _describe(name, broker, topic, queue)
    return begin_call(name, peer, Layer.MQ, component, tags)


def sent_along(span: Span | None) -> dict[str, str]:
    """The headers to write into a message: those of its own span, or of the call that it is a part of, and the time of
    sending."""
    if span is None:
        span = outer_call()
        if span is None or suppress_instrumentation.get():
            return {}
    headers = span.headers()
    if headers:
        headers[HEADER] = write_sent_time(time.time())
    return headers


def add_to_pairs(headers: Any, span: Span | None) -> Any:
    """A message's headers as pairs of text and bytes, the context's behind the application's own. What the application
    has written itself counts, and its list stays as it is."""
    added = sent_along(span)
    if not added or not _can_be_added_to(headers):
        return headers
    pairs: list[Any] = list(headers or ())
    names = {pair[0] for pair in pairs}
    if "sw8" not in names:
        pairs.extend((key, value.encode()) for key, value in added.items() if key not in names)
    return tuple(pairs) if isinstance(headers, tuple) else pairs


def _can_be_added_to(headers: object) -> bool:
    """Anything else may be an iterator, which would be used up, or is refused by the library for its type."""
    return headers is None or isinstance(headers, (list, tuple))


def add_to_mapping(headers: Any, span: Span | None) -> Any:
    """A message's headers as a mapping of texts, as `add_to_pairs`."""
    added: dict[str, Any] = {**sent_along(span)}
    if not added or (headers and "sw8" in headers):
        return headers
    added.update(headers or {})
    return added


def drop_former(headers: Any, span: Span) -> None:
    """Take the context of the message whose task runs here out of the headers of one that repeats it. What the
    application has written stays."""
    root: Any = span.segment.root if span.segment is not None else None
    sent = headers.get("sw8")
    if sent is not None and root is not None and root.carrier is not None and parse_sw8(sent) == root.carrier:
        headers.pop("sw8")
        headers.pop("sw8-correlation", None)
        headers.pop(HEADER, None)


def suppressing(call: Callable[..., Any]) -> Callable[..., Any]:
    """For `Patches.wrap`: what a library does in this call for itself is not recorded."""

    def suppressed(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = suppress_instrumentation.set(True)
        try:
            return call(self, *args, **kwargs)
        finally:
            suppress_instrumentation.reset(token)

    return suppressed


def begin_receive(
    name: str,
    component: int,
    messages: Iterable[Any],
    broker: str,
    topic: str = "",
    queue: str = "",
    has_latency: bool = True,
) -> Span | None:
    """Begin the entry span of a message that came in, or of a batch of them, which then refers to each producer.

    :param messages: as `swagent.messages.context_of` takes them
    :param has_latency: False where a message was to wait for a while: that is not the time that it was on its way
    """
    tracer = running()
    if tracer is None or suppress_instrumentation.get():
        return None
    name, _, tags = _describe(name, broker, topic, queue)
    messages = list(messages)
    carriers, correlation = _carriers_of(messages, tracer)
    carrier = carriers[0] if carriers else _traceparent_of(messages, tracer)
    span = Span(name, SpanKind.ENTRY, "", Layer.MQ, component, carrier, correlation, tracer)
    span.tags.extend(tags)
    span.start()
    if len(carriers) > 1 and span.segment is not None:
        span.refs = [Reference(RefKind.CROSS_PROCESS, *each[1:]) for each in carriers[:_MAX_REFERENCES]]
        if len(carriers) > _MAX_REFERENCES:
            span.segment.note_limit()
    if has_latency:
        tag_latency(span, messages)
    return span


def _carriers_of(messages: Iterable[Any], tracer: Tracer) -> tuple[list[Carrier], dict[str, str] | None]:
    """Where messages come from, each place once, and what travels with the first. One that is not recorded decides only
    where no other is."""
    if tracer.trust_incoming is False:
        return [], None
    found: dict[Carrier, object] = {}
    for message in messages:
        context = context_of(message)
        carrier = parse_sw8(context["sw8"]) if context["sw8"] is not None else None
        if carrier is not None:
            found.setdefault(carrier, context["correlation"])
    carriers = sorted(found, key=lambda carrier: not carrier.sampled)
    if not carriers:
        return [], None
    sent = found[carriers[0]]
    correlation = parse_correlation(sent, *tracer.correlation_limits) if sent is not None else None
    return [carrier for carrier in carriers if carrier.sampled] or carriers[:1], correlation


def _traceparent_of(messages: Iterable[Any], tracer: Tracer) -> Traceparent | None:
    """The trace of the first producer that sent a `traceparent`, and no `sw8`."""
    if not tracer.traceparent or tracer.trust_incoming is False:
        return None
    for message in messages:
        context = context_of(message)
        caller = parse_traceparent(context["traceparent"], context["tracestate"])
        if caller is not None:
            return caller
    return None


def note_retry(span: Span, error: BaseException) -> None:
    """Note why an attempt of a job is followed by one more: that is no failure yet."""
    fields = describe(error)
    span.log(event="retry", reason=fields.pop("error.kind"), **fields)


@remembered(1024)
def _describe(name: str, broker: str, topic: str, queue: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Name, peer and tags. Remembered: most services know few topics."""
    peer = address_of(broker)
    tags = (("mq.broker", peer), ("mq.topic", short(topic)), ("mq.queue", short(queue)))
    return name_of(name), peer, tuple(tag for tag in tags if tag[1])
