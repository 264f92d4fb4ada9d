"""Takes a file of traces into the store: all of it or nothing, and what is kept already not again.

Its records are like those that agents report, but no sign of life of their processes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..cancelling import stop_if_cancelled
from ..intake.json_messages import encoded
from ..intake.json_pieces import read_object
from ..intake.translation import log_of
from ..store.protocol import parse
from ..store.records import LogLine
from ..store.segment_index import Indexed, index_bytes
from ..store.store import Store
from .reading import parts_of

Answer = dict[str, Any]
_MOST_IDS = 1000
"""Ids of traces in an answer."""
_LINE = "SELECT time, service, segment, span, content FROM logs WHERE trace = ?"


def take(store: Store, body: bytes) -> Answer:
    """Take in what a body holds; says what was new.

    :raises ValueError: when it is no file of traces
    :raises TooLargeError: when it has too much in it
    :raises StoreError: when the store cannot be written
    """
    try:
        value = read_object(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the file is no JSON: {error}") from error
    parts = parts_of(value)
    segments = [_segment(each) for each in parts.segments]
    lines = [_line(each) for each in parts.logs]
    losses = store.losses
    new = _new_segments(store, segments)
    new_lines = _new_lines(store, lines)
    records: list[Indexed | LogLine] = [*new, *new_lines]
    for record in records:
        store.restore(record)
    store.commit()
    store.check(losses)
    traces = dict.fromkeys(each.trace_id for each in segments)
    return {
        "traces": list(traces)[:_MOST_IDS],
        "trace_count": len(traces),
        "segments": len(new),
        "logs": len(new_lines),
        "known": len(segments) - len(new),
    }


def _segment(value: Any) -> Indexed:
    return index_bytes(encoded("SegmentObject", value))


def _line(value: Any) -> LogLine:
    return log_of(parse("LogData", encoded("LogData", value)))


def _new_segments(store: Store, segments: Iterable[Indexed]) -> list[Indexed]:
    known: dict[str, set[str]] = {}
    new: list[Indexed] = []
    for each in segments:
        if each.trace_id not in known:
            found = store.read("SELECT segment FROM segments WHERE trace = ?", (each.trace_id,))
            known[each.trace_id] = {segment for (segment,) in found}
            stop_if_cancelled()
        if each.segment_id not in known[each.trace_id]:
            known[each.trace_id].add(each.segment_id)
            new.append(each)
    return new


def _new_lines(store: Store, lines: Iterable[LogLine]) -> list[LogLine]:
    """Lines have no ids: one that says the same at the same moment is the same."""
    by_trace: defaultdict[str, list[LogLine]] = defaultdict(list)
    for line in lines:
        by_trace[line.trace_id].append(line)
    new: list[LogLine] = []
    for trace_id, here in by_trace.items():
        known: set[tuple[Any, ...]] = {tuple(row) for row in store.read(_LINE, (trace_id,))} if trace_id else set()
        new += [each for each in here if _key(each) not in known]
        stop_if_cancelled()
    return new


def _key(line: LogLine) -> tuple[int, str, str, int, str]:
    return line.timestamp, line.service, line.segment_id, line.span_id, line.content
