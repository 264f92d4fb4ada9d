"""From a log record of OTLP to a log line; pure."""

from __future__ import annotations

from typing import Any

from ...store.records import LogLine
from .origin import Origin
from .places import own_place
from .values import text_of, texts_of

_MILLISECOND = 1_000_000
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""Four numbers each, from 1."""
_SPELLINGS = {"WARN": "WARNING", "FATAL": "CRITICAL"}


def line_of(origin: Origin, scope: Any, record: Any) -> LogLine:
    """The log line of a record."""
    tags = {"level": _level(record)}
    if scope.name:
        tags["logger"] = scope.name
    tags |= texts_of(record.attributes)
    is_traced = len(record.trace_id) == 16 and any(record.trace_id)
    is_placed = is_traced and len(record.span_id) == 8 and any(record.span_id)
    place = own_place(record.trace_id, record.span_id) if is_placed else None
    return LogLine(
        timestamp=(record.time_unix_nano or record.observed_time_unix_nano) // _MILLISECOND,
        service=origin.service,
        instance=origin.instance,
        endpoint="",
        content_type="json" if record.body.WhichOneof("value") in ("kvlist_value", "array_value") else "text",
        content=text_of(record.body) or record.event_name,
        tags=tuple((key, value) for key, value in tags.items() if value),
        layer="",
        trace_id=record.trace_id.hex() if is_traced else "",
        segment_id=place.segment_id if place is not None else "",
        span_id=place.span_id if place is not None else 0,
    )


def _level(record: Any) -> str:
    text = str(record.severity_text).upper()
    if text:
        return _SPELLINGS.get(text) or text
    number = int(record.severity_number)
    return _LEVELS[min((number - 1) // 4, len(_LEVELS) - 1)] if number > 0 else ""
