"""The columns of a segment, so that lists, maps and sums need not read the segments themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

from .database import Row

_LIMIT = 2**63 - 1
_CALLS = (0, 1)  # the numbers of entry and exit spans


class Indexed(NamedTuple):
    """A segment on its way into the store.

    :ivar row: all columns of `segments` from `trace` on
    :ivar calls: of each entry and exit span the columns of `calls` from `number` on
    """

    trace_id: str
    segment_id: str
    service: str
    instance: str
    row: Row
    calls: list[Row]
    body: bytes


def index(message: Any, body: bytes) -> Indexed:
    """Look through a segment's message once.

    :param body: the bytes that the message was read from
    """
    service, instance = message.service, message.serviceInstance
    spans = message.spans
    calls: list[Row] = []
    start, finish, errors, endpoint, is_root = _LIMIT, -_LIMIT, 0, "", 1
    for span in spans:
        begin, end, is_error = span.startTime, span.endTime, span.isError
        start, finish = min(start, begin), max(finish, end)
        errors += is_error
        kind, refs, operation = span.spanType, span.refs, span.operationName
        first = refs[0] if refs else None
        if first is not None:
            is_root = 0
        if not endpoint or span.parentSpanId < 0:
            endpoint = operation
        if kind in _CALLS:
            calls.append(
                (
                    len(calls),
                    span.spanId,
                    "exit" if kind else "entry",
                    service,
                    instance,
                    operation,
                    span.peer,
                    begin,
                    min(max(end - begin, 0), _LIMIT),
                    is_error,
                    first.parentTraceSegmentId if first is not None else None,
                    first.parentSpanId if first is not None else None,
                    first.parentService if first is not None else None,
                )
            )
    if not spans:
        start = finish = 0
    trace_id, segment_id = message.traceId, message.traceSegmentId
    row = (trace_id, segment_id, service, instance, start, finish, endpoint, len(spans), errors, is_root)
    return Indexed(trace_id, segment_id, service, instance, row, calls, body)
