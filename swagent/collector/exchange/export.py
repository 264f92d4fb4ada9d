"""Writes traces to a file.

The file is no larger than one that may be imported: the other traces are left out, and counted at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..cancelling import stop_if_cancelled
from ..intake.json_pieces import MAX_ELEMENT, MAX_ELEMENTS
from ..intake.room import MAX_BODY
from ..store import rows
from ..store.rows import LOG_COLUMNS
from ..store.store import Store
from .trace_json import FORMAT, VERSION, log_text, segment_text

_FRAME = 1024
_LOGS = f"SELECT {LOG_COLUMNS} FROM logs WHERE trace = ? ORDER BY time, id LIMIT {MAX_ELEMENTS + 1}"  # noqa: S608


class _Bounds:
    """How much of the file is free yet."""

    def __init__(self) -> None:
        self._bytes = MAX_BODY - _FRAME
        self._segments = self._logs = MAX_ELEMENTS

    def take(self, segments: Sequence[str], logs: Sequence[str]) -> bool:
        """Whether a trace fits in; then it is."""
        texts = (*segments, *logs)
        size = sum(len(text.encode()) + 1 for text in texts)
        fits = size <= self._bytes and len(segments) <= self._segments and len(logs) <= self._logs
        if not fits or max(map(len, texts), default=0) > MAX_ELEMENT:
            return False
        self._bytes -= size
        self._segments -= len(segments)
        self._logs -= len(logs)
        return True


def export(store: Store, trace_ids: Sequence[str]) -> bytes:
    """The file with these traces. Those that are not kept any more are not in it."""
    bounds, left_out = _Bounds(), 0
    segments: list[str] = []
    lines: list[str] = []
    for trace_id in trace_ids:
        stop_if_cancelled()
        new_segments = _segments(store, trace_id)
        new_lines = [log_text(rows.log_of(row)) for row in store.read(_LOGS, (trace_id,))]
        if bounds.take(new_segments, new_lines):
            segments += new_segments
            lines += new_lines
        else:
            left_out += 1
    head = f'{{"format":"{FORMAT}","version":{VERSION},\n"segments":['
    middle, end = '\n],\n"logs":[', f'\n],\n"left_out":{left_out}}}\n'
    return "".join((head, *_elements(segments), middle, *_elements(lines), end)).encode()


def _elements(texts: Sequence[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield f"{',' if number else ''}\n{text}"


def _segments(store: Store, trace_id: str) -> list[str]:
    found: list[str] = []
    for number in store.segment_numbers(trace_id):
        stop_if_cancelled()
        segment = store.segment(number)
        if segment is not None:  # else it has fallen out meanwhile
            found.append(segment_text(segment))
    return found
