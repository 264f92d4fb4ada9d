"""Which recorded spans follow which: what a test says of a message's way from its producer to its consumer."""

from __future__ import annotations

from typing import Any

from record.recorded import Recorder


def joins(recorder: Recorder) -> list[str]:
    """Each segment's first span and the spans that it refers to, such as `consume <- produce`, in the order in which
    they finished. A reference has to be right: of the same trace, unless a batch has several, and to a span that is
    there."""
    segments = {segment.id: segment for segment in recorder.segments}
    found: list[str] = []
    for segment in recorder.segments:
        first: Any = min(segment.spans, key=lambda span: span.id)
        for reference in first.refs:
            parent = segments[reference.segment_id]
            assert parent.trace_id == reference.trace_id
            assert len(first.refs) > 1 or reference.trace_id == segment.trace_id
            [span] = (span for span in parent.spans if span.id == reference.span_id)
            found.append(f"{first.name} <- {span.name}")
    return found
