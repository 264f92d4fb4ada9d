"""Segments and log lines in the words of the protocol's JSON, as `/v3/segments` and `/v3/logs` take them; pure.

Empty values are left out: a reader takes a missing value for an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..store.records import LogLine
from ..store.trace_records import Pairs, Reference, Segment, Span

Json = dict[str, Any]
FORMAT = "swagent-traces"
"""The `format` of the file."""
VERSION = 1
"""Goes up when older readers would misread a file."""
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def segment_text(segment: Segment) -> str:
    """A segment as JSON."""
    head = _full(
        traceId=segment.trace_id,
        traceSegmentId=segment.segment_id,
        service=segment.service,
        serviceInstance=segment.instance,
        isSizeLimited=segment.is_size_limited,
    )
    spans = [_dumps(_span(span)) for span in segment.spans]
    return f'{_dumps(head)[:-1]}{"," if head else ""}"spans":[{",".join(spans)}]}}'


def log_text(line: LogLine) -> str:
    """A log line as JSON."""
    form = line.content_type or "text"
    return _dumps(
        {
            "timestamp": line.timestamp,
            **_full(service=line.service, serviceInstance=line.instance, endpoint=line.endpoint, layer=line.layer),
            "body": {"type": form.upper(), form: {form: line.content}},
            "traceContext": {
                **_full(traceId=line.trace_id, traceSegmentId=line.segment_id),
                "spanId": line.span_id,
            },
            "tags": {"data": _pairs(line.tags)},
        }
    )


def _span(span: Span) -> Json:
    return {
        "spanId": span.span_id,
        "parentSpanId": span.parent_span_id,
        "startTime": span.start_time,
        "endTime": span.end_time,
        "operationName": span.operation,
        "spanType": _enum(span.kind),
        "spanLayer": _enum(span.layer),
        **_full(
            refs=[_reference(each) for each in span.references],
            peer=span.peer,
            componentId=span.component_id,
            isError=span.is_error,
            tags=_pairs(span.tags),
            logs=[{"time": log.time, "data": _pairs(log.data)} for log in span.logs],
            skipAnalysis=span.skip_analysis,
        ),
    }


def _reference(reference: Reference) -> Json:
    return {
        "refType": _enum(reference.kind),
        "parentSpanId": reference.span_id,
        **_full(
            traceId=reference.trace_id,
            parentTraceSegmentId=reference.segment_id,
            parentService=reference.service,
            parentServiceInstance=reference.instance,
            parentEndpoint=reference.endpoint,
            networkAddressUsedAtPeer=reference.address,
        ),
    }


def _enum(name: str) -> str | int:
    """A number that the protocol does not name is kept as its digits."""
    return int(name) if name.lstrip("-").isdecimal() else name


def _pairs(pairs: Pairs) -> list[Mapping[str, str]]:
    return [{"key": key, "value": value} for key, value in pairs]


def _full(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value}
