"""How long calls took, as the store has it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..api.node import Node
from ..api.pieces import pieces
from ..cancelling import stop_if_cancelled
from ..store.store import Store

_WINDOWS = 50
_CALLS = "SELECT kind, service, endpoint, CASE kind WHEN 'exit' THEN peer ELSE '' END, duration FROM calls "
_NAMED = _CALLS + "WHERE owner > :low AND owner <= :high AND endpoint IN ({names})"
_OWN = _CALLS + "WHERE owner = ?"


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


Durations = Mapping[Operation, Counter[int]]
"""How many calls of each operation took so many milliseconds."""


def calls_of(store: Store, number: int) -> Iterator[tuple[Operation, int]]:
    """The calls of a segment, with their milliseconds.

    :raises StoreError: when the store cannot be read
    """
    for *names, duration in store.read(_OWN, (number,)):
        yield Operation(*names), duration


def count(
    store: Store, names: Sequence[str], most: int | None, numbers: tuple[int, int]
) -> tuple[Mapping[str, Durations], tuple[int, int]]:
    """Count the calls of operations with some names; also returns of which segments, as there may be more by now.

    :param most: about so many segments are looked at, from all of the time; None: each that is kept
    :param numbers: of the segments that there are, as the store says
    :raises StoreError: when the store cannot be read
    """
    query = _NAMED.format(names=", ".join(f":name{number}" for number in range(len(names))))
    values = {f"name{number}": name for number, name in enumerate(names)}
    found: defaultdict[Sequence[str], Counter[int]] = defaultdict(Counter)
    for piece in pieces(store, "segments") if most is None else _windows(numbers, most):
        numbers = numbers[0], piece["last"]
        for row in store.read(query, {**piece, **values}):
            found[row[:4]][row[4]] += 1
    counted: dict[str, dict[Operation, Counter[int]]] = {name: {} for name in names}
    for key, durations in found.items():
        operation = Operation(*key)
        counted[operation.operation][operation] = durations
    return counted, numbers


def _windows(numbers: tuple[int, int], most: int) -> Iterator[dict[str, int]]:
    """Ranges of segments at equal distances, as `pieces` has them."""
    low, last = numbers
    width = max(most // _WINDOWS, 1)
    step = max((last - low) / _WINDOWS, width)
    for number in range(_WINDOWS):
        begin = low + round(number * step)
        if begin < last:
            stop_if_cancelled()
            yield {"low": begin, "high": min(begin + width, last), "last": last}
