"""The other causes of a span, and the spans that it caused elsewhere: a batch of messages has several producers, and
each of these may have a trace of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..store.store import Store
from ..store.trace_records import Reference, Segment
from .node import Key, Node

Answer = dict[str, Any]
MOST = 100
"""Links of one span in an answer."""
_AT_ONCE = 100
# the spans that those of some segments caused, by their first reference and by the others
_CONSUMERS = """
SELECT s.trace, s.segment, c.span, s.service, s.endpoint, c.parent_segment, c.parent_span
FROM calls c JOIN segments s ON s.id = c.owner WHERE c.parent_segment IN ({marks}) AND s.trace <> ?
UNION
SELECT s.trace, s.segment, l.span, s.service, s.endpoint, l.parent_segment, l.parent_span
FROM links l JOIN segments s ON s.id = l.owner WHERE l.parent_segment IN ({marks})
"""


class References:
    """The links of one trace's spans, beyond those that make its tree."""

    def __init__(self, store: Store, trace_id: str, names: dict[int, str]) -> None:
        """:param names: of the nodes, as the answer has them"""
        self._store = store
        self._trace_id = trace_id
        self._names = names
        self._consumers: defaultdict[Key, list[Answer]] = defaultdict(list)
        self._known: dict[str, bool] = {}

    def read(self, segments: Sequence[Segment]) -> None:
        """Look for the spans that the segments of the trace caused."""
        for low in range(0, len(segments), _AT_ONCE):
            ids = [segment.segment_id for segment in segments[low : low + _AT_ONCE]]
            query = _CONSUMERS.format(marks=", ".join("?" * len(ids)))
            for trace, segment, span, service, endpoint, *key in self._store.read(query, (*ids, self._trace_id, *ids)):
                found = self._consumers[key[0], key[1]]
                if len(found) < MOST:
                    found.append(_link(trace, f"{segment}:{span}", service, endpoint, True))

    def of(self, node: Node) -> Answer:
        """The links of a span: its other parents, and its other consumers."""
        key = node.segment.segment_id, node.span.span_id
        parents = [
            self._parent(each)
            for each in node.span.references[:MOST]
            if (each.segment_id, each.span_id) != node.parent_key
        ]
        return {"parents": parents, "consumers": self._consumers.get(key, [])}

    def _parent(self, reference: Reference) -> Answer:
        name = f"{reference.segment_id}:{reference.span_id}"
        is_kept = self._is_kept(reference.segment_id, reference.trace_id)
        return _link(reference.trace_id, name, reference.service, reference.endpoint, is_kept)

    def _is_kept(self, segment_id: str, trace_id: str) -> bool:
        """Whether a segment can be shown."""
        if segment_id not in self._known:
            query = "SELECT 1 FROM segments WHERE trace = ? AND segment = ?"
            self._known[segment_id] = bool(self._store.read(query, (trace_id, segment_id)))
        return self._known[segment_id]


def _link(trace: str, span: str, service: str, endpoint: str, is_kept: bool) -> Answer:
    return {"trace_id": trace, "span": span, "service": service, "endpoint": endpoint, "kept": is_kept}
