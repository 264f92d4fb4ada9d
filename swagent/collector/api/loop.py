"""Spans of other traces that held the event loop for which a trace waited, or that waited for the loop that it held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..store.store import Store
from ..store.trace_records import Segment, Span
from .pieces import PieceSize

Answer = dict[str, Any]
BLOCKED, WAITED = "loop.blocked", "loop.waited"
MOST = 200
"""Spans in an answer that held the loop, and as many that waited for it."""
MAX_PROCESSES = 8
"""Processes of a trace that are looked at."""
SLACK_MS = 1000
"""How much later the application may see a request that came in while the loop was blocked."""
_PIECE = 2000  # segments looked at at once: those of the right time cost much more than the others
_CONCERNED = "(instr(body, :blocked) OR instr(body, :waited))"
_OF_TRACE = f"SELECT id FROM segments JOIN bodies USING (id) WHERE trace = :trace AND {_CONCERNED} ORDER BY id"  # noqa: S608
# the body is looked at last: only of what ran in the same process at that time
_OTHERS = f"""
SELECT id, instr(body, :blocked) > 0 FROM segments CROSS JOIN bodies USING (id)
WHERE id > :low AND id <= :high AND ({{windows}}) AND trace <> :trace AND {_CONCERNED}
ORDER BY id DESC
"""  # noqa: S608
_WINDOW = (
    "service = :service{0} AND instance = :instance{0} AND start <= :end{0} AND start + took + {slack} >= :start{0}"
)


class _Window(NamedTuple):
    service: str
    instance: str
    start: int
    end: int


def neighbours(store: Store, trace_id: str) -> Answer:
    """Spans of other traces that ran in the same processes while a loop was blocked, and say that they held it or
    waited for it."""
    version = store.version
    windows = _windows(store, trace_id)
    found: dict[str, list[Answer]] = {BLOCKED: [], WAITED: []}
    left_out = 0
    for number, is_blocker in _numbers(store, trace_id, windows):
        if len(found[WAITED]) >= MOST and not is_blocker:
            left_out += 1
            continue
        segment = store.segment(number)
        if segment is None:  # it has fallen out meanwhile
            continue
        for key, span in _spans(segment):
            if len(found[key]) < MOST:
                found[key].append(_answer(segment, span))
            else:
                left_out += 1
    spans = {each["trace_id"] + each["id"]: each for part in found.values() for each in part}
    return {"version": version, "spans": list(spans.values()), "left_out": left_out}


def _windows(store: Store, trace_id: str) -> list[_Window]:
    """For each process of a trace that reports a blocked loop, the time around it."""
    windows: dict[tuple[str, str], _Window] = {}
    for (number,) in store.read(_OF_TRACE, {"trace": trace_id, **_tags()}):
        segment = store.segment(number)
        if segment is None:
            continue
        process = segment.service, segment.instance
        for key, span in _spans(segment):
            # one that waited may have come in before the application saw it
            early = span.start_time - (_millis(span) if key == WAITED else 0)
            late = span.end_time + (SLACK_MS if key == BLOCKED else 0)
            old = windows.get(process, _Window(*process, early, late))
            windows[process] = _Window(*process, min(old.start, early), max(old.end, late))
    return list(windows.values())[:MAX_PROCESSES]


def _numbers(store: Store, trace_id: str, windows: list[_Window]) -> Iterator[tuple[int, bool]]:
    """The numbers of the segments that may say more, and whether one may have held the loop; the newest come first."""
    if not windows:
        return
    size, (first, last) = PieceSize(), store.numbers("segments")
    values: dict[str, Any] = {"trace": trace_id, **_tags()}
    for number, window in enumerate(windows):
        values |= {f"{name}{number}": value for name, value in window._asdict().items()}
    conditions = " OR ".join(f"({_WINDOW.format(number, slack=SLACK_MS)})" for number in range(len(windows)))
    query = _OTHERS.format(windows=conditions)
    high = last
    while high > first:
        low = max(high - min(size.rows, _PIECE), first)
        size.begin()
        found = store.read(query, {**values, "low": low, "high": high})
        size.end()
        for number, is_blocker in found:
            yield number, bool(is_blocker)
        high = low


def _spans(segment: Segment) -> Iterator[tuple[str, Span]]:
    """The spans that held the loop, and those that waited for it; one may have done both."""
    for span in segment.spans:
        for key in (BLOCKED, WAITED):
            if span.tag(key) is not None:
                yield key, span


def _millis(span: Span) -> int:
    text = span.tag(WAITED) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _tags() -> dict[str, bytes]:
    return {"blocked": BLOCKED.encode(), "waited": WAITED.encode()}


def _answer(segment: Segment, span: Span) -> Answer:
    return {
        "trace_id": segment.trace_id,
        "id": f"{segment.segment_id}:{span.span_id}",
        "service": segment.service,
        "instance": segment.instance,
        "operation": span.operation,
        "start": span.start_time,
        "end": span.end_time,
        "tags": [each for each in span.tags if each[0] in (BLOCKED, WAITED)],
        "logs": [{"time": log.time, "fields": log.data} for log in span.logs if ("event", BLOCKED) in log.data],
    }
