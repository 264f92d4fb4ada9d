"""Writes spans in protobuf.

Those of one place in the code differ in their numbers and times only. So what follows these, which is most of a span,
is written once: the parts of a message are joined in the order of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.trace.model import SpanRecord
from .segment_template import EARLIEST, LATEST

_MOST = 1024
# A longer part is written each time: long texts seldom repeat.
_LONGEST = 512


class SpanWriter:
    """Any thread: each step with its parts is atomic, and two threads that miss the same one write it twice."""

    def __init__(
        self,
        write: Callable[[SpanRecord], bytes],
        span_object: Callable[..., bytes],
        times: Mapping[int, bytes],
    ) -> None:
        """
        :param write: writes any span
        :param span_object: of `wire`
        :param times: in milliseconds, as they are written behind the tag of their field
        """
        self._write = write
        self._times = times
        rest: Any = ((), "", "", 0, 0, 0, False, (), (), False)
        self._start = span_object(0, 0, 1, 0, *rest)[:1]
        self._end = span_object(0, 0, 0, 1, *rest)[:1]
        self._numbers: BoundedCache[tuple[int, int], bytes] = BoundedCache(lambda key: span_object(*key, 0, 0, *rest))
        self._rests: dict[tuple[Any, ...], bytes] = {}

    def __call__(self, span: SpanRecord) -> bytes:
        """A SpanObject.

        :raises ValueError: when a number does not fit its field
        """
        start, end = int(span.start_time * 1000), int(span.end_time * 1000)
        if span.refs or span.logs or not EARLIEST <= start <= end <= LATEST:
            return self._write(span)
        try:
            key = (span.name, span.peer, span.kind, span.layer, span.component, span.failed, *span.tags)
            rest = self._rests.get(key)
        except Exception:  # noqa: BLE001, RUF100  (a field that is not even hashable, and it costs no span)
            return self._write(span)
        if rest is None:
            return self._write_first(span, key, start, end)
        numbers, times = self._numbers[span.id, span.parent_id], self._times
        return b"".join((numbers, self._start, times[start], self._end, times[end], rest))

    def _write_first(self, span: SpanRecord, key: tuple[Any, ...], start: int, end: int) -> bytes:
        """Write a span, and keep what the next one of its kind has as well."""
        written, times = self._write(span), self._times
        before = self._numbers[span.id, span.parent_id] + self._start + times[start] + self._end + times[end]
        rest = written[len(before) :]
        if len(rest) <= _LONGEST and written.startswith(before):
            if len(self._rests) >= _MOST:
                self._rests.clear()
            self._rests[key] = rest
        return written
