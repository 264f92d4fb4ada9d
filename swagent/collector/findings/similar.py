"""Requests whose time was split, beside similar ones whose time was not.

Without the accelerator the time of one request in a hundred is split. Another request of the operation that took about
as long says what such a request does with its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..api.node import Node
from ..api.pieces import pieces
from ..api.tree import depth_first, join
from ..cancelling import stop_if_cancelled
from ..store.store import Store
from ..store.tag_text import BETWEEN, EQUALS
from .path import Piece
from .requests import entry_of, is_split

Similar = Mapping[str, Node]
"""By the segment of a request the entry span of a similar one whose time was split."""
MOST_SEGMENTS = 20_000
"""The newest segments, among which is looked."""
_FACTOR = 2
"""How many times as long the longer one of two similar requests may take."""
_SPLIT = """
SELECT id, service, endpoint, took FROM segments
WHERE id > :low AND id <= :high AND took > 0 AND instr(tags, :tag) > 0 AND endpoint IN ({names})
"""
_TAG = f"{BETWEEN}time.running{EQUALS}"


def similar_requests(store: Store, paths: Iterable[Iterable[Piece]]) -> Similar:
    """For each request on some paths whose time was not split one that took about as long, where there is one.

    :raises StoreError: when the store cannot be read
    """
    wanted: dict[tuple[str, str], dict[str, int]] = {}
    for entry in _not_split(paths):
        lengths = wanted.setdefault((entry.segment.service, entry.span.operation), {})
        lengths[entry.segment.segment_id] = entry.end - entry.start
    nodes: dict[int, Node | None] = {}
    found: dict[str, Node] = {}
    for segment, number in _nearest(store, wanted).items():
        if number not in nodes:
            stop_if_cancelled()
            nodes[number] = _entry(store, number)
        node = nodes[number]
        if node is not None:
            found[segment] = node
    return found


def _not_split(paths: Iterable[Iterable[Piece]]) -> Iterable[Node]:
    entries = (entry_of(piece.node) for path in paths for piece in path)
    return dict.fromkeys(each for each in entries if each is not None and each.end > each.start and not is_split(each))


def _nearest(store: Store, wanted: Mapping[tuple[str, str], Mapping[str, int]]) -> dict[str, int]:
    """By the segment of a request the number of the one whose length is the nearest."""
    names = {f"name{number}": name for number, name in enumerate(dict.fromkeys(name for _, name in wanted))}
    if not names:
        return {}
    query = _SPLIT.format(names=", ".join(f":{each}" for each in names))
    best: dict[str, tuple[float, int]] = {}
    for piece in pieces(store, "segments", store.numbers("segments")[1] - MOST_SEGMENTS):
        for number, service, name, took in store.read(query, {**piece, **names, "tag": _TAG}):
            for segment, length in wanted.get((service, name), {}).items():
                apart = max(took / length, length / took)
                if apart <= _FACTOR:
                    best[segment] = min(best.get(segment, (apart, number)), (apart, number))
    return {segment: number for segment, (_, number) in best.items()}


def _entry(store: Store, number: int) -> Node | None:
    segment = store.segment(number)
    nodes = depth_first(join([segment])) if segment is not None else ()
    entries = (node for node, _ in nodes if node.span.kind == "Entry" and node.end > node.start)
    return next(filter(is_split, entries), None)
