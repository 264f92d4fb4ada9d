"""Recorded segments as text, one line a span, so that a test can say what it expects as it would draw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from record.recorded import Finished, Recorder
from swagent.record.trace.model import Component, Layer, SpanRecord


def trees(recorder: Recorder, *, summaries: bool = True) -> str:
    """Every segment, in the order in which they finished: kind, name, component and layer, peer, tags, failure; below a
    span the spans inside it.

    >>> Entry GET:/orders FASTAPI/HTTP
    >>>   Exit /stock/{id} HTTPX/HTTP 127.0.0.1:80 http.method=GET http.status_code=200

    :param summaries: whether those of SQL are shown
    """
    hidden = () if summaries else ("db.query.summary",)
    return "\n".join(line for segment in recorder.segments for line in _lines(segment, -1, "", hidden))


def _lines(segment: Finished, parent: int, indent: str, hidden: Sequence[str]) -> Iterator[str]:
    for span in sorted(segment.spans, key=lambda span: span.id):
        if span.parent_id == parent:
            yield indent + _line(span, hidden)
            yield from _lines(segment, span.id, indent + "  ", hidden)


def _line(span: SpanRecord, hidden: Sequence[str]) -> str:
    tags = [f"{key}={_shown(key, value)}" for key, value in span.tags if key not in hidden]
    known = f"{Component(span.component).name}/{Layer(span.layer).name}" if span.component or span.layer else ""
    parts = [span.kind.name.capitalize(), span.name, known, span.peer, *tags, "FAILED" if span.failed else ""]
    return " ".join(part for part in parts if part)


def _shown(key: str, value: str) -> str:
    """A tag's value; of a time that no two runs share, only that it is one."""
    return "…" if key == "transmission.latency" and value.isdecimal() else value
