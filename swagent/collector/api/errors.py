"""Failures, in groups: by the kind of the exception and the place where it was raised; without an exception, by
status and operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import Any

from ..store.store import Store
from .failure_index import FailureIndex
from .failures import Failure, Group, exception
from .sums import MOMENT, PARTS, Trend, trend

Answer = dict[str, Any]
MOST_GROUPS = 500
"""Groups in an answer; more are left out, and said to be."""
MOST_PLACES = 20
"""Services and endpoints of a group in an answer."""
MOST_EXAMPLES = 20
_MANY_EXAMPLES = 500
_LOGGED = "SELECT count(*) FROM (SELECT 1 FROM logs WHERE trace = ? AND segment = ? AND span = ? LIMIT 1000)"
ORDERS = ("last", "count", "first")
"""The orders of groups: by the newest failure, by how many there are, by the oldest one."""


class _Found:
    """A group, and what is added up of it."""

    def __init__(self, newest: Failure) -> None:
        self.group: Group = newest.group
        self.count = 0
        self.first = newest.time
        self.newest = newest
        self.moments: Counter[int] = Counter()
        self.places: Counter[tuple[str, str]] = Counter()

    def add(self, failure: Failure) -> None:
        self.count += 1
        self.first = min(self.first, failure.time)
        if failure.time >= self.newest.time:
            self.newest = failure
        self.moments[failure.time // MOMENT] += 1
        self.places[failure.service, failure.endpoint] += 1

    def rank(self, order: str) -> tuple[int, int]:
        return {"last": self.newest.time, "count": self.count, "first": self.first}[order], self.newest.number

    def answer(self, shown: Trend) -> Answer:
        counts = [0] * PARTS
        for moment, count in self.moments.items():
            if 0 <= (part := shown.part(moment)) < PARTS:
                counts[part] += count
        group = self.group
        return {
            "id": group.id,
            **group._asdict(),
            "line": self.newest.line,
            "message": self.newest.message,
            "count": self.count,
            "first": self.first,
            "last": self.newest.time,
            "services": sorted({service for service, _ in self.places})[:MOST_PLACES],
            "endpoints": [
                {"service": service, "name": name, "count": count}
                for (service, name), count in self.places.most_common(MOST_PLACES)
            ],
            "trend": counts,
        }


def errors(store: Store, index: FailureIndex, filters: Mapping[str, Any], order: str) -> Answer:
    """The groups, those first that come first in an order.

    :param filters: of `service`, `endpoint`, `q`, `from`, `to` those that apply
    :param order: one of `ORDERS`
    """
    version = store.version
    groups: dict[Group, _Found] = {}
    own, through = index.read_both()
    for failure in own:
        if _matches(failure, filters):
            if failure.group not in groups:
                groups[failure.group] = _Found(failure)
            groups[failure.group].add(failure)
    shown = _trend(groups.values(), filters)
    found = sorted(groups.values(), key=lambda each: each.rank(order), reverse=True)
    answers = [each.answer(shown) for each in found[:MOST_GROUPS]]
    return {
        "version": version,
        "total": len(found),
        "failures": sum(each.count for each in found),
        "through": len({each.number for each in through if _matches(each, filters)}),
        "left_out": len(found) - len(answers),
        "forgotten": index.dropped,
        "trend": shown._asdict(),
        "groups": answers,
    }


def error_group(store: Store, index: FailureIndex, wanted: str, filters: Mapping[str, Any]) -> Answer | None:
    """One group with its newest failures, and the stack of the newest of all; None when nothing of it is kept.

    :param filters: as for `errors`, but for `q`
    """
    version = store.version
    ids: dict[Group, bool] = {}
    newest: Failure | None = None
    found: _Found | None = None
    examples: list[Failure] = []
    for failure in index.read():
        if failure.group not in ids:
            ids[failure.group] = failure.group.id == wanted
        if ids[failure.group]:
            newest = failure if newest is None else max(newest, failure, key=_age)
            if _matches(failure, filters):
                found = found or _Found(failure)
                found.add(failure)
                examples.append(failure)
                if len(examples) >= _MANY_EXAMPLES:
                    examples = nlargest(MOST_EXAMPLES, examples, key=_age)
    if newest is None:
        return None
    found = found or _Found(newest)
    shown = _trend([found], filters)
    answers = [_example(store, each) for each in nlargest(MOST_EXAMPLES, examples, key=_age)]
    return {
        "version": version,
        **found.answer(shown),
        "width": shown.width,
        "from": shown.start,
        "stack": _stack(store, newest),
        "examples": answers,
    }


def _age(failure: Failure) -> tuple[int, int]:
    return failure.time, failure.number


def _matches(failure: Failure, filters: Mapping[str, Any]) -> bool:
    return (
        filters.get("service", failure.service) == failure.service
        and filters.get("endpoint", failure.endpoint) == failure.endpoint
        and filters.get("from", failure.time) <= failure.time <= filters.get("to", failure.time)
        and ("q" not in filters or filters["q"].lower() in _text(failure))
    )


def _text(failure: Failure) -> str:
    return "\n".join((*failure.group, failure.message, failure.endpoint, failure.service)).lower()


def _trend(found: Iterable[_Found], filters: Mapping[str, Any]) -> Trend:
    groups = list(found)
    first = filters.get("from", min((each.first for each in groups), default=0))
    last = max((each.newest.time for each in groups), default=first)
    return trend(first, max(min(filters.get("to", last), last), first), "from" in filters)


def _example(store: Store, failure: Failure) -> Answer:
    segment, _, span = failure.name.rpartition(":")
    ((lines,),) = store.read(_LOGGED, (failure.trace, segment, int(span)))
    return {
        "trace_id": failure.trace,
        "span": failure.name,
        "service": failure.service,
        "endpoint": failure.endpoint,
        "operation": failure.operation,
        "time": failure.time,
        "duration": failure.duration,
        "message": failure.message,
        "logs": lines,
    }


def _stack(store: Store, failure: Failure) -> str:
    segment = store.segment(failure.number)
    spans = segment.spans if segment else ()
    number = failure.name.rpartition(":")[2]
    return next((exception(span)[2] for span in spans if span.is_error and str(span.span_id) == number), "")
