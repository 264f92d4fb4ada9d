"""Writes traces to a file, as a stream.

The file is as large as may come back: what is beyond is left out, trace by trace, and counted at its end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from ..intake.json_pieces import MAX_ELEMENT, MAX_ELEMENTS
from ..intake.room import MAX_BODY
from ..pace import Pace
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


async def export(store: Store, trace_ids: Sequence[str]) -> AsyncIterator[str]:
    """The file with these traces, piece by piece. Those that are not kept any more are not in it."""
    pace, bounds, left_out = Pace(), _Bounds(), 0
    lines: list[str] = []
    separator = ""
    yield f'{{"format":"{FORMAT}","version":{VERSION},\n"segments":['
    for trace_id in trace_ids:
        segments = await _segments(store, trace_id, pace)
        logs = [log_text(rows.log_of(row)) for row in store.read(_LOGS, (trace_id,))]
        await pace.breathe()
        if not bounds.take(segments, logs):
            left_out += 1
            continue
        lines += logs
        for text in segments:
            yield f"{separator}\n{text}"
            separator = ","
    yield '\n],\n"logs":['
    for number, text in enumerate(lines):
        yield f"{',' if number else ''}\n{text}"
    yield f'\n],\n"left_out":{left_out}}}\n'


async def _segments(store: Store, trace_id: str, pace: Pace) -> list[str]:
    found: list[str] = []
    for number in store.segment_numbers(trace_id):
        segment = await pace.walk(store.decoding(number))
        if segment is not None:  # else it has fallen out meanwhile
            found.append(await pace.walk(segment_text(segment)))
        await pace.breathe()
    return found
