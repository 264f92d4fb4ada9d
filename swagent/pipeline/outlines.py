"""Outlines of finished records: what decides about a segment, read before it is encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..record.cardinality import OVERFLOW
from ..record.trace.carrier import split_sw8
from ..record.trace.ids import trace_id_of
from ..record.trace.model import SpanRecord
from ..record.trace.segment import Segment
from ..record.trace.tracer import Tracer
from ..request.description import is_failure, name_by_path, name_so_far
from ..request.facts import Facts
from ..request.finished import FACTS, NUMBER, SEGMENT
from .shedding import Outline


class Outlines:
    """Reads the records of one agent."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def read(self, finished: Sequence[Any]) -> Outline | None:
        """The outline of a request or of a segment; None where it is not recorded.

        :param finished: a row of `request/finished.py`
        :raises Exception: whatever comes of a request that no specification knows
        """
        return self._of_request(finished) if finished[NUMBER] else _of_segment(*finished[SEGMENT])

    def _of_request(self, finished: Sequence[Any]) -> Outline | None:
        number, start, end, _, caller, _ = finished[:FACTS]
        facts = Facts(*finished[FACTS:])
        tracer = self._tracer
        if (not tracer.ignores_dots_only or "." in facts.path) and tracer.is_ignored(
            name_by_path(facts.method, facts.path)
        ):
            return None
        carrier = split_sw8(caller) if caller is not None else None
        if carrier is None:
            trace_id = trace_id_of(number).encode()
        elif carrier[0]:
            trace_id = carrier[1]
        else:
            return None
        name = name_so_far(facts.method, facts.path, facts.template)
        if facts.template is None and name not in tracer.endpoints:
            # a client can send any path
            name = name_by_path(facts.method, OVERFLOW)
        return Outline(name, trace_id, end - start, is_failure(facts.status))


def _of_segment(segment: Segment, spans: Sequence[SpanRecord]) -> Outline:
    # a part of a long segment has no root: any of its spans is taken for it
    root = next((span for span in spans if span.parent_id == -1 and span.id == 0), spans[0])
    failed = any(span.failed for span in spans)
    return Outline(root.name, segment.trace_id.encode("utf-8", "replace"), root.end_time - root.start_time, failed)
