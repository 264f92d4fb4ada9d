"""How long operations take usually, by the calls that are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from ..api.node import Node
from ..api.pieces import pieces
from ..api.sums import quantile
from ..cancelling import stop_if_cancelled
from ..store.store import Store
from .finding import Baseline

MOST = 40
"""Operations that are looked for at once."""
_WINDOWS = 50
_LEAST = 2  # one other call is not enough to call it usual
_QUERY = """
SELECT kind, service, endpoint, CASE kind WHEN 'exit' THEN peer ELSE '' END, duration, owner FROM calls
WHERE owner > :low AND owner <= :high AND endpoint IN ({names})
"""


class Operation(NamedTuple):
    """The key of calls that are compared: those of one operation of a service to one peer, or its requests."""

    kind: str
    service: str
    operation: str
    peer: str


def operation_of(node: Node) -> Operation:
    """The operation of an entry or exit span."""
    span = node.span
    kind = span.kind.lower()
    return Operation(kind, node.segment.service, span.operation, span.peer if kind == "exit" else "")


Usual = Mapping[Operation, Baseline]


def usual(
    store: Store, operations: Collection[Operation], without: Collection[int] = (), most: int | None = None
) -> Usual:
    """The baseline of each operation that has other calls.

    :param without: the numbers of segments whose calls do not count: those of the trace that is compared
    :param most: about so many segments are looked at, from all of the time; None: each that is kept
    :raises StoreError: when the store cannot be read
    """
    wanted = list(dict.fromkeys(operations))[:MOST]
    if not wanted:
        return {}
    found: dict[Operation, list[int]] = {each: [] for each in wanted}
    names = list(dict.fromkeys(each.operation for each in wanted))
    query = _QUERY.format(names=", ".join(f":name{number}" for number in range(len(names))))
    values = {f"name{number}": name for number, name in enumerate(names)}
    for piece in pieces(store, "segments") if most is None else _windows(store, most):
        for kind, service, operation, peer, duration, owner in store.read(query, {**piece, **values}):
            durations = found.get(Operation(kind, service, operation, peer))
            if durations is not None and owner not in without:
                durations.append(duration)
    return {each: _baseline(durations) for each, durations in found.items() if len(durations) >= _LEAST}


def _windows(store: Store, most: int) -> Iterator[dict[str, int]]:
    """Ranges of segments at equal distances, as `pieces` has them."""
    low, last = store.numbers("segments")
    width = max(most // _WINDOWS, 1)
    step = max((last - low) / _WINDOWS, width)
    for number in range(_WINDOWS):
        begin = low + round(number * step)
        if begin < last:
            stop_if_cancelled()
            yield {"low": begin, "high": min(begin + width, last), "last": last}


def _baseline(durations: list[int]) -> Baseline:
    durations.sort()
    return Baseline(quantile(durations, 50) or 0, len(durations))
