"""From the protocol's messages to records of our own; pure. `trace_translation` does it for traces."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..store import records
from ..store.trace_translation import name_of, pairs_of


def log_of(message: Any) -> records.LogLine:
    """The log line that a message holds; `content_type` says which form it came in: text, json or yaml."""
    form = message.body.WhichOneof("content") or ""
    context = message.traceContext
    return records.LogLine(
        timestamp=message.timestamp,
        service=message.service,
        instance=message.serviceInstance,
        endpoint=message.endpoint,
        content_type=form,
        content=getattr(getattr(message.body, form), form) if form else "",
        tags=pairs_of(message.tags.data),
        layer=message.layer,
        trace_id=context.traceId,
        segment_id=context.traceSegmentId,
        span_id=context.spanId,
    )


def meter_of(message: Any, first: Any) -> records.Meter:
    """The value that a message holds.

    :param first: of the same input set; only it must name service, instance and time
    """
    form = message.WhichOneof("metric")
    metric = getattr(message, form) if form else None
    return records.Meter(
        service=message.service or first.service,
        instance=message.serviceInstance or first.serviceInstance,
        name=metric.name if metric is not None else "",
        labels=tuple((label.name, label.value) for label in metric.labels) if metric is not None else (),
        timestamp=message.timestamp or first.timestamp,
        value=metric.value if metric is not None and form == "singleValue" else None,
        buckets=_buckets(metric.values) if metric is not None and form == "histogram" else None,
    )


def _buckets(values: Iterable[Any]) -> tuple[tuple[float, int], ...]:
    return tuple((-math.inf if value.isNegativeInfinity else value.bucket, value.count) for value in values)


def event_of(message: Any) -> records.Event:
    """The event that a message holds."""
    return records.Event(
        uuid=message.uuid,
        service=message.source.service,
        instance=message.source.serviceInstance,
        endpoint=message.source.endpoint,
        name=message.name,
        kind=name_of("Type", message.type),
        message=message.message,
        parameters=dict(message.parameters),
        start_time=message.startTime,
        end_time=message.endTime,
        layer=message.layer,
    )


def attached_event_of(message: Any) -> records.AttachedEvent:
    """The event on a span that a message holds."""
    context = message.traceContext
    return records.AttachedEvent(
        name=message.event,
        trace_id=context.traceId,
        segment_id=context.traceSegmentId,
        span_id=context.spanId,
        start_time=_nanoseconds(message.startTime),
        end_time=_nanoseconds(message.endTime),
        tags=pairs_of(message.tags),
        summary=tuple((pair.key, pair.value) for pair in message.summary),
    )


def properties_of(message: Any) -> records.Properties:
    """The properties that a message holds."""
    return records.Properties(message.service, message.serviceInstance, pairs_of(message.properties), message.layer)


def keep_alive_of(message: Any) -> records.KeepAlive:
    """An instance's sign of life."""
    return records.KeepAlive(message.service, message.serviceInstance, message.layer)


def snapshot_of(message: Any) -> records.ThreadSnapshot:
    """The stack that a message holds."""
    stack = tuple(message.stack.codeSignatures)
    return records.ThreadSnapshot(message.taskId, message.traceSegmentId, message.time, message.sequence, stack)


def profile_finish_of(message: Any) -> records.ProfileFinish:
    """The end of a profile task."""
    return records.ProfileFinish(message.service, message.serviceInstance, message.taskId)


def profile_data_of(message: Any) -> records.ProfileData:
    """A piece of a profile, without its content."""
    return records.ProfileData(message.taskId, len(message.payload), message.isLast)


def _nanoseconds(instant: Any) -> int:
    return int(instant.seconds) * 1_000_000_000 + int(instant.nanos)
