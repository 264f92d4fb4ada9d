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


def check_attempts(recorder: Recorder, name: str, reason: str = "LookupError") -> None:
    """A job has sent a task, whose first attempt asked for a second one: that one follows it, in the same trace.

    :param reason: the type of the exception `busy`, if there was one
    """
    assert recorder.names == [["job", name], [name, name], [name]]
    sent, first, second = recorder.segments
    roots = [min(each.spans, key=lambda span: span.id) for each in (first, second)]
    assert not any(span.failed for each in (first, second) for span in each.spans)
    found = [dict(fields) for _, fields in roots[0].logs]
    said = {"event": "retry", "reason": reason, "message": "busy"}
    assert found == ([{**found[0], **said}] if reason else [])
    assert all("error.kind" not in each for each in found)
    assert [root.refs[0].segment_id for root in roots] == [sent.id, first.id]
    assert roots[1].refs[0].span_id == 1, "of the retry, and not of the attempt"
    assert {each.trace_id for each in recorder.segments} == {sent.trace_id}
