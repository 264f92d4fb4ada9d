"""The operations whose slow or failed requests have an attribute that their other requests have not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from random import Random

from ..cancelling import stop_if_cancelled
from ..store.store import Store
from .attributes import LEAST, Hot, Seen, attributes_of, hottest
from .culprit import SLOW_FACTOR, SLOW_MS
from .finding import Finding, view_link
from .roots import Root, Row
from .words import plural

_OPERATIONS = 6
_MOST = 200
"""Requests of an operation that are looked at on each side."""
_MOST_SEGMENTS = 2000
_SEGMENTS = """
SELECT trace, service, instance, tags FROM segments WHERE trace IN ({}) AND spans <= 2000 ORDER BY id LIMIT {}
"""


def hot_attributes(store: Store, roots: Iterable[Root]) -> Iterator[Finding]:
    """The attributes by which slow requests, or failed ones, differ from others of their operation.

    :raises StoreError: when the store cannot be read
    """
    known = list(roots)
    slow = [root for root in known if len(root.slow) >= LEAST and root.is_recurring]
    for root in nlargest(_OPERATIONS, slow, key=lambda root: root.excess):
        yield from _found(store, root, "slow", root.slow)
    failing = {root: [row for row in root.rows if row[4]] for root in known}
    for root in nlargest(_OPERATIONS, known, key=lambda root: len(failing[root])):
        yield from _found(store, root, "failed", failing[root])
    spread = {root: _upper(root) for root in known if root not in slow}
    for root in nlargest(_OPERATIONS, spread, key=lambda root: len(spread[root])):
        yield from _found(store, root, "slow", spread[root], of_process=True)


def _upper(root: Root) -> list[Row]:
    """Those that took much longer than a quarter of all: where one of two processes is slow, that is half of them."""
    limit = root.p25 + max(SLOW_MS, (SLOW_FACTOR - 1) * root.p25)
    return [row for row in root.rows if row[0] >= limit]


def _found(store: Store, root: Root, how: str, bad: Sequence[Row], *, of_process: bool = False) -> Iterator[Finding]:
    if len(bad) < LEAST:
        return
    chosen = {row[2] for row in bad}
    good = [row for row in root.rows if row[2] not in chosen and not row[3]]
    if len(good) < LEAST:
        return
    seen_bad, seen_good = _seen(store, bad), _seen(store, good)
    hot = hottest(seen_bad, seen_good, of_process=of_process)
    if hot is not None:
        yield _finding(root, how, bad, hot, (len(seen_bad), len(seen_good)))


def _seen(store: Store, rows: Sequence[Row]) -> list[Seen]:
    """The requests with their attributes; where they are many, some by a draw that is the same for the same rows. Every
    fifth would be of one process where five take turns."""
    drawn = Random(len(rows)).sample(rows, min(len(rows), _MOST))  # noqa: S311  (no secret)
    picked = {row[2]: row[1] for row in drawn}
    segments: dict[str, list[tuple[str, str, str]]] = {}
    stop_if_cancelled()
    marks = ", ".join("?" * len(picked))
    for trace, *segment in store.read(_SEGMENTS.format(marks, _MOST_SEGMENTS), list(picked)):
        segments.setdefault(trace, []).append((segment[0], segment[1], segment[2]))
    return [Seen(picked[trace], attributes_of(found)) for trace, found in segments.items()]


def _finding(root: Root, how: str, bad: Sequence[Row], hot: Hot, of: tuple[int, int]) -> Finding:
    condition = " and ".join(each.text for each in hot.attributes)
    alike = f" (these also have {', '.join(each.text for each in hot.alike)})" if hot.alike else ""
    share = hot.inside / of[0]
    where = f"{root.service} · {root.operation}"
    text = (
        f"{where} {'fails' if how == 'failed' else 'is slow'} where {condition}{alike}: "
        f"{hot.inside:,} of {plural(of[0], f'{how} request')}, {hot.outside:,} of {of[1]:,} others"
    )
    terms = " ".join(each.term for each in hot.attributes)
    excess = sum(max(row[0] - root.p25, 0) for row in bad) if how == "slow" else 0
    return Finding(
        "hot_attribute", text, root.service, root.operation, "high" if hot.outside * 10 <= of[1] else "medium",
        view_link("traces", service=root.service, endpoint=root.operation, q=terms),
        count=round(share * len(bad)), ms=round(share * excess),
        failures=round(share * len(bad)) if how == "failed" else 0, share=round(share, 4),
    )  # fmt: skip
