"""The columns of a segment, so that lists, maps and sums need not read the segments themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..cancelling import stop_if_cancelled
from . import tag_text
from .database import Row
from .failed_segments import NOT_FAILED, Outcome, failed_by, worst
from .foreign_callers import foreign_caller
from .protocol import described, malformed, parse
from .wire_pieces import PIECE, check_parts, cut

_LIMIT = 2**63 - 1
# columns of a row
_START, _TOOK, _ENDPOINT, _SPANS, _ERRORS, _IS_ROOT, _FAILED, _TAGS = range(4, 12)
_NO_CALLER = (None, None, None)
_CALLS = (0, 1)  # the numbers of entry and exit spans


class Indexed(NamedTuple):
    """A segment on its way into the store.

    :ivar row: all columns of `segments` from `trace` on; `took` is the time of the span that heads the segment
    :ivar calls: of each entry and exit span the columns of `calls` from `number` on
    :ivar links: of each reference after a span's first one the columns of `links` from `span` on
    """

    trace_id: str
    segment_id: str
    service: str
    instance: str
    row: Row
    calls: list[Row]
    links: list[Row]
    body: bytes

    @property
    def took(self) -> int:
        """How long the span took that heads the segment."""
        took: int = self.row[_TOOK]
        return took

    @property
    def endpoint(self) -> str:
        """The operation of that span."""
        endpoint: str = self.row[_ENDPOINT]
        return endpoint


def index(message: Any, body: bytes, endpoint: str = "", took: int = 0) -> Indexed:
    """Look through a segment's message once.

    :param body: the bytes that the message was read from
    :param endpoint: of the span that heads the segment, as far as it was seen before
    :param took: the time of that
    """
    service, instance = message.service, message.serviceInstance
    spans = message.spans
    calls: list[Row] = []
    links: list[Row] = []
    pairs: list[str] = []
    start, errors, is_root = _LIMIT, 0, 1
    for span in spans:
        begin, end, is_error = span.startTime, span.endTime, span.isError
        if begin < start:
            start = begin
        errors += is_error
        kind, refs, operation = span.spanType, span.refs, span.operationName
        first = refs[0] if refs else None
        caller = None
        if first is not None:
            is_root = 0
            caller = first.parentTraceSegmentId, first.parentSpanId, first.parentService
            if len(refs) > 1:
                links += [(span.spanId, each.parentTraceSegmentId, each.parentSpanId) for each in refs[1:]]
        if not endpoint or span.parentSpanId < 0:
            endpoint, took = operation, end - begin
        peer = span.peer
        tag_text.collect(pairs, span, kind, operation, peer)
        if kind in _CALLS:
            duration = end - begin
            calls.append(
                (
                    len(calls),
                    span.spanId,
                    "exit" if kind else "entry",
                    service,
                    instance,
                    operation,
                    peer,
                    begin,
                    duration if 0 <= duration <= _LIMIT else min(max(duration, 0), _LIMIT),
                    is_error,
                    *(caller or foreign_caller(span.tags, kind) or _NO_CALLER),
                    span.spanLayer,
                )
            )
    if not spans:
        start = 0
    took = min(max(took, 0), _LIMIT)
    trace_id, segment_id = message.traceId, message.traceSegmentId
    tags = tag_text.text_of(pairs)
    failed = failed_by(spans) if errors else NOT_FAILED
    names = trace_id, segment_id, service, instance
    row = (*names, start, took, endpoint, len(spans), errors, is_root, failed, tags)
    return Indexed(trace_id, segment_id, service, instance, row, calls, links, body)


def index_bytes(data: bytes) -> Indexed:
    """Look through a segment's bytes. Those of a large one are parsed piece by piece, so that other threads run in
    between.

    :raises ValueError: when they are not a well-formed segment
    """
    parts: list[Indexed] = []
    endpoint, took = "", 0
    with malformed("SegmentObject"):
        for piece in cut(data):
            if len(piece) > PIECE:
                check_parts(piece, described("SegmentObject"))
            parts.append(index(parse("SegmentObject", piece), b"", endpoint, took))
            endpoint, took = parts[-1].endpoint, parts[-1].took
            stop_if_cancelled()
    names = [_last(part.row[column] for part in parts) for column in range(4)]
    calls: list[Row] = []
    links: list[Row] = []
    for part in parts:
        for _, span, kind, _, _, *others in part.calls:
            calls.append((len(calls), span, kind, *names[2:], *others))
        links += part.links
    full = [part.row for part in parts if part.row[_SPANS]]
    start = min((row[_START] for row in full), default=0)
    spans, errors = (sum(row[column] for row in full) for column in (_SPANS, _ERRORS))
    is_root = min((row[_IS_ROOT] for row in full), default=1)
    tags = tag_text.merged(part.row[_TAGS] for part in parts)
    failed: Outcome = worst(part.row[_FAILED] for part in parts)
    row = (*names, start, took, endpoint, spans, errors, is_root, failed, tags)
    return Indexed(names[0], names[1], names[2], names[3], row, calls, links, data)


def _last(values: Iterable[str]) -> str:
    """Of a field that comes several times the last one counts."""
    return next((value for value in reversed(list(values)) if value), "")
