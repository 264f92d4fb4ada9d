"""The tags, names and kinds of errors that traces in a box of the heatmap have more often than others that match."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..store.store import Store
from ..store.tag_text import BETWEEN, EQUALS, INSTANCE, SERVICE
from .matching import Search
from .pair_names import term_of

Answer = dict[str, Any]
BOX: Mapping[str, str] = {
    "box_from": "start >= :box_from",
    "box_to": "start <= :box_to",
    "box_min_ms": "duration >= :box_min_ms",
    "box_max_ms": "duration <= :box_max_ms",
}
"""The sides of the box: parameters, and what they mean."""
_MOST = 40
_LEAST_SHARE = 0.02  # of the box
_MANY = 200_000  # different pairs of which those that came once are forgotten
# tags with a time that an agent measured, in milliseconds: 201 ms in place of 202 ms is no difference
_MEASURED = re.compile(rf"(?:time\.(?:running|ready|awaiting|awaited|gc)|loop\.(?:waited|blocked)|tasks){EQUALS}")
_Z = 3.0  # many pairs are compared, and one of a thousand differences that are none would pass
# of a segment all that can differ; it ends with a sign between two pairs
_PAIRS = (
    f"group_concat(tags || '{SERVICE}{EQUALS}' || service || '{BETWEEN}{INSTANCE}{EQUALS}' || instance"
    f" || '{BETWEEN}', '')"
)
_SIDE = "{matching} SELECT extra FROM matching WHERE {condition}"


class Difference(NamedTuple):
    """A pair: how many traces have it in the box, how many of the others, and how great the difference is at least."""

    pair: str
    inside: int
    outside: int
    least: float


def differences(store: Store, filters: Mapping[str, Any], box: Mapping[str, int]) -> Answer:
    """The pairs that are more frequent in the box, the greatest difference first.

    A difference counts as far as it is sure: a pair that three traces have by chance is none.

    :param filters: of `matching.FILTERS` those that apply
    :param box: of `BOX` those that apply
    :raises ValueError: when the query cannot be read
    """
    version, search = store.version, Search(store, filters, _PAIRS)
    inside = " AND ".join(["true", *(BOX[each] for each in BOX if each in box)])
    counter = _Counter(store, search, box)
    within = counter.count(inside, None)
    least = max(2, math.ceil(within.total * _LEAST_SHARE))
    candidates = {pair for pair, count in within.pairs.items() if count >= least and _is_significant(pair)}
    others = counter.count(f"NOT ({inside})", candidates)
    found = [_compare(pair, within, others) for pair in candidates]
    best = sorted((each for each in found if each.least > 0), key=lambda each: (-each.least, each.pair))[:_MOST]
    return {
        "version": version,
        "inside": within.total,
        "outside": others.total,
        "differences": [
            {
                **term_of(each.pair)._asdict(),
                "inside": each.inside,
                "outside": each.outside,
                "share_inside": each.inside / within.total,
                "share_outside": each.outside / others.total,
            }
            for each in best
        ],
    }


def _is_significant(pair: str) -> bool:
    return EQUALS in pair and not _MEASURED.match(pair)


def _compare(pair: str, within: _Side, others: _Side) -> Difference:
    inside, outside = within.pairs[pair], others.pairs[pair]
    return Difference(pair, inside, outside, sure_difference(inside, within.total, outside, others.total))


def sure_difference(inside: int, of_inside: int, outside: int, of_outside: int) -> float:
    """How much greater the first share is at least: the lower end of Newcombe's interval for the difference of two
    shares, which holds for few traces too. Zero where there is nothing to compare with."""
    if not (of_inside and of_outside):
        return 0.0
    first, second = inside / of_inside, outside / of_outside
    low, _ = _wilson(first, of_inside)
    _, high = _wilson(second, of_outside)
    return first - second - math.hypot(first - low, high - second)


def _wilson(share: float, count: int) -> tuple[float, float]:
    """Between what the share of a whole lies of which so many were seen."""
    square = _Z * _Z / count
    middle = (share + square / 2) / (1 + square)
    width = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return middle - width, middle + width


class _Side(NamedTuple):
    total: int
    pairs: Counter[str]


class _Counter:
    """Counts the traces that have a pair."""

    def __init__(self, store: Store, search: Search, box: Mapping[str, int]) -> None:
        self._store = store
        self._search = search
        self._box = box

    def count(self, condition: str, wanted: set[str] | None) -> _Side:
        """Count on one side of the box, only pairs that are wanted."""
        total = 0
        pairs: Counter[str] = Counter()
        for piece in self._search.ranges():
            query = _SIDE.format(matching=piece.matching, condition=condition)
            texts = self._store.read(query, {**piece.values, **self._box})
            total += len(texts)
            for (text,) in texts:
                found: set[str] = set(text.split(BETWEEN))
                pairs.update(found if wanted is None else wanted & found)
            if len(pairs) > _MANY:
                pairs = Counter({pair: count for pair, count in pairs.items() if count > 1})
        return _Side(total, pairs)
