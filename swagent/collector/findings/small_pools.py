"""Pools that are always too small: nearly each request of an operation waits for a connection, for much of its time.

What takes long always is the usual, and no finding elsewhere. A wait for a connection is no work, though.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..api.node import Node
from ..api.pieces import pieces
from ..store.store import Store
from ..store.tag_text import BETWEEN, EQUALS
from .calls import pool_of
from .finding import MOST_PLACES, Confidence, Finding, trace_link
from .places import place
from .repeats import union
from .requests import entry_of
from .samples import Sample
from .words import duration, percent, plural

LEAST = 20
"""Requests of an operation that say that it always waits."""
_WAITED = 0.6  # of them that have to wait; some never do where a connection happens to be free
_SHARE, _MS = 0.3, 25  # of their time, and milliseconds
_LEAST_SEEN = 2
_SURE_SHARE = 0.5
_COUNTED = """
SELECT count(*), coalesce(sum(instr(tags, :pair) > 0), 0) FROM segments
WHERE id > :low AND id <= :high AND service = :service AND endpoint = :endpoint AND start >= :from AND start <= :to
"""


class Wait(NamedTuple):
    """The waits of one request for one pool.

    :ivar spans: of the waits
    :ivar ms: milliseconds for which it waited
    """

    entry: Node
    spans: list[Node]
    ms: int

    @property
    def share(self) -> float:
        """Of the time of the request."""
        return self.ms / max(self.entry.end - self.entry.start, 1)


def small_pools(store: Store, bounds: Mapping[str, int], samples: Iterable[Sample]) -> Iterator[Finding]:
    """A finding for each operation whose requests always wait.

    :param bounds: `from` and `to`, as far as a time is asked for
    :raises StoreError: when the store cannot be read
    """
    requests: dict[tuple[str, str], int] = {}
    waits: dict[tuple[tuple[str, str], str], list[Wait]] = {}
    for sample in samples:
        if sample.part == "usual":
            for entry, pools in _waits_in(sample.trace.nodes).items():
                operation = entry.segment.service, entry.span.operation
                requests[operation] = requests.get(operation, 0) + 1
                for pool, spans in pools.items():
                    waits.setdefault((operation, pool), []).append(Wait(entry, spans, union(spans)))
    for (operation, pool), found in waits.items():
        is_usual = len(found) >= max(_WAITED * requests[operation], _LEAST_SEEN)
        middle = sorted(found, key=lambda each: each.share)[len(found) // 2]
        if is_usual and middle.share >= _SHARE and middle.ms >= _MS:
            count, waited = _count(store, bounds, operation, pool)
            if count >= LEAST and waited >= _WAITED * count:
                yield _finding(pool, middle, found, (count, waited))


def _waits_in(nodes: Iterable[Node]) -> dict[Node, dict[str, list[Node]]]:
    """By request and pool the waits for a connection."""
    found: dict[Node, dict[str, list[Node]]] = {}
    for node in nodes:
        if node.span.kind == "Entry":
            found.setdefault(node, {})
        pool, entry = pool_of(node), entry_of(node)
        if pool and entry is not None:
            found.setdefault(entry, {}).setdefault(pool, []).append(node)
    return found


def _count(store: Store, bounds: Mapping[str, int], operation: tuple[str, str], pool: str) -> tuple[int, int]:
    """How many requests of an operation there are, and how many of them waited for a pool."""
    values = {
        "pair": f"{BETWEEN}pool{EQUALS}{pool}{BETWEEN}", "service": operation[0], "endpoint": operation[1],
        "from": bounds.get("from", 0), "to": bounds.get("to", 2**62),
    }  # fmt: skip
    count = waited = 0
    for piece in pieces(store, "segments"):
        for some, of_these in store.read(_COUNTED, {**piece, **values}):
            count, waited = count + some, waited + of_these
    return count, waited


def _finding(pool: str, middle: Wait, found: list[Wait], of: tuple[int, int]) -> Finding:
    entry, (count, waited) = middle.entry, of
    took = max(entry.end - entry.start, 1)
    longest = max((span for wait in found for span in wait.spans), key=lambda each: each.end - each.start)
    text = (
        f"{entry.segment.service} · {entry.span.operation}: {percent(waited / count)} of {plural(count, 'request')} "
        f"wait for a connection of {pool}{_fullness(longest)} · {duration(middle.ms)} of {duration(took)} (p50): the "
        "pool is too small for this load, or its connections are kept for too long"
    )
    confidence: Confidence = "high" if middle.share >= _SURE_SHARE else "medium"
    evidence = [place(span) for wait in found for span in wait.spans]
    return Finding(
        "pool", text, entry.segment.service, entry.span.operation, confidence, trace_link(place(longest)), count=waited,
        ms=middle.ms * waited, share=round(middle.share, 4), places=tuple(evidence[:MOST_PLACES]),
    )  # fmt: skip


def _fullness(node: Node) -> str:
    """How full the pool was when a wait began."""
    in_use, limit, waiting = (node.span.tag(f"pool.{name}") for name in ("in_use", "limit", "waiting"))
    text = f", {in_use} of {limit} in use" if in_use and limit else f", {in_use} in use" if in_use else ""
    return f"{text} and {waiting} others in front" if text and waiting else text
