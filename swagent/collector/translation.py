"""From the protocol's messages to records of our own; pure. `trace_translation` does it for traces."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import betterproto

from swagent_proto import messages as wire

from . import records
from .trace_translation import name_of, pairs_of


def log_of(message: wire.LogData) -> records.LogLine:
    """The log line that a message holds; `content_type` says which form it came in: text, json or yaml."""
    form, body = _one_of(message.body, "content")
    return records.LogLine(
        timestamp=message.timestamp,
        service=message.service,
        instance=message.service_instance,
        endpoint=message.endpoint,
        content_type=form,
        content=getattr(body, form) if form else "",
        tags=pairs_of(message.tags.data),
        layer=message.layer,
        trace_id=message.trace_context.trace_id,
        segment_id=message.trace_context.trace_segment_id,
        span_id=message.trace_context.span_id,
    )


def meter_of(message: wire.MeterData, first: wire.MeterData) -> records.Meter:
    """The value that a message holds.

    :param first: of the same input set; only it must name service, instance and time
    """
    form, metric = _one_of(message, "metric")
    return records.Meter(
        service=message.service or first.service,
        instance=message.service_instance or first.service_instance,
        name=metric.name if form else "",
        labels=tuple((label.name, label.value) for label in metric.labels) if form else (),
        timestamp=message.timestamp or first.timestamp,
        value=metric.value if form == "single_value" else None,
        buckets=_buckets(metric.values) if form == "histogram" else None,
    )


def _buckets(values: Iterable[wire.MeterBucketValue]) -> tuple[tuple[float, int], ...]:
    return tuple((-math.inf if value.is_negative_infinity else value.bucket, value.count) for value in values)


def event_of(message: wire.Event) -> records.Event:
    """The event that a message holds."""
    return records.Event(
        uuid=message.uuid,
        service=message.source.service,
        instance=message.source.service_instance,
        endpoint=message.source.endpoint,
        name=message.name,
        kind=name_of(message.type),
        message=message.message,
        parameters=dict(message.parameters),
        start_time=message.start_time,
        end_time=message.end_time,
        layer=message.layer,
    )


def attached_event_of(message: wire.SpanAttachedEvent) -> records.AttachedEvent:
    """The event on a span that a message holds."""
    context = message.trace_context
    return records.AttachedEvent(
        name=message.event,
        trace_id=context.trace_id,
        segment_id=context.trace_segment_id,
        span_id=context.span_id,
        start_time=_nanoseconds(message.start_time),
        end_time=_nanoseconds(message.end_time),
        tags=pairs_of(message.tags),
        summary=tuple((pair.key, pair.value) for pair in message.summary),
    )


def properties_of(message: wire.InstanceProperties) -> records.Properties:
    """What an instance says about itself."""
    return records.Properties(message.service, message.service_instance, pairs_of(message.properties), message.layer)


def snapshot_of(message: wire.ThreadSnapshot) -> records.Snapshot:
    """The stack that a message holds."""
    return records.Snapshot(
        message.task_id, message.trace_segment_id, message.time, message.sequence, tuple(message.stack.code_signatures)
    )


def _one_of(message: betterproto.Message, group: str) -> tuple[str, Any]:
    """The name and value of the field that is set; an empty name where none is."""
    return betterproto.which_one_of(message, group)


def _nanoseconds(instant: wire.Instant) -> int:
    return instant.seconds * 1_000_000_000 + instant.nanos
