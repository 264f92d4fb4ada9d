"""Between records and rows of the store; pure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from . import records
from .database import Row
from .trace_records import Pairs

R = TypeVar("R", bound=records.Record)
KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        records.Event,
        records.ProfileFinish,
        records.ProfileData,
        records.AttachedEvent,
    )
}
"""The records that are kept whole, as JSON."""

LOG_COLUMNS = "time, service, instance, endpoint, content_type, content, tags, layer, trace, segment, span"


def log_row(line: records.LogLine) -> Row:
    """The columns of `logs` from `time` on."""
    level = next((value for key, value in line.tags if key.lower() == "level"), "")
    return (
        *(line.timestamp, line.service, line.instance, line.endpoint, line.content_type, line.content),
        *(json.dumps(line.tags), line.layer, line.trace_id, line.segment_id, line.span_id, level.upper()),
    )


def log_of(row: Sequence[Any]) -> records.LogLine:
    """The log line in the columns `LOG_COLUMNS`."""
    time, service, instance, endpoint, content_type, content, tags, layer, trace, segment, span = row
    return records.LogLine(
        time, service, instance, endpoint, content_type, content, pairs_of(tags), layer, trace, segment, span
    )


SNAPSHOT_COLUMNS = "task, segment, time, sequence, stack"


def snapshot_row(snapshot: records.ThreadSnapshot) -> Row:
    """The columns of `snapshots` from `task` on."""
    stack = json.dumps(snapshot.stack)
    return snapshot.task_id, snapshot.segment_id, snapshot.time, snapshot.sequence, stack


def snapshot_of(row: Sequence[Any]) -> records.ThreadSnapshot:
    """The stack in the columns `SNAPSHOT_COLUMNS`."""
    task, segment, time, sequence, stack = row
    return records.ThreadSnapshot(task, segment, time, sequence, tuple(json.loads(stack)))


def pairs_of(text: str) -> Pairs:
    """Tags and the like from their JSON."""
    return tuple((key, value) for key, value in json.loads(text))


def meter_of(row: Sequence[Any]) -> records.Meter:
    """The value in `service, instance, name, labels, time, value, buckets`. Only a histogram has buckets: what a series
    is may change, when an application gives a name to another kind of meter.

    A value that is not a number is kept as NULL, since SQLite knows none.
    """
    service, instance, name, labels, time, value, buckets = row
    if buckets is not None:
        pairs = tuple((float(bound), int(count)) for bound, count in json.loads(buckets))
        return records.Meter(service, instance, name, pairs_of(labels), time, None, pairs)
    return records.Meter(
        service, instance, name, pairs_of(labels), time, float("nan") if value is None else value, None
    )


def other_text(record: records.Record) -> str:
    """A record of `KINDS` as JSON."""
    return json.dumps(dataclasses.asdict(record))


def other_of(kind: type[R], text: str) -> R:
    """The record of `KINDS` in a JSON text."""
    return kind(**{name: _frozen(value) for name, value in json.loads(text).items()})


def _frozen(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple(map(_frozen, cast("Sequence[Any]", value)))
