"""The stand-in's facts about services, endpoints, errors and comparisons: computed in the plainest way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from .made_up import Record, Trace

Query = dict[str, str]
PARTS = 30
LEAST = 20


class Call(NamedTuple):
    """One entry span."""

    service: str
    endpoint: str
    trace: str
    start: int
    took: int
    failed: bool
    queries: int


class Failure(NamedTuple):
    """One span that failed by itself."""

    kind: str
    status: str
    operation: str
    call: Call
    span: str
    time: int
    stack: str
    message: str
    logs: int

    @property
    def group(self) -> str:
        return f"{self.kind}-{self.status}-{self.operation}".replace("/", ".").replace(" ", ".")


class Calls:
    """The calls of one stand-in, in the order of their start."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.failures: list[Failure] = []

    def take(self, trace: Trace) -> None:
        logged = {f"{each['segment_id']}:{each['span_id']}" for each in trace.logs}
        for span in trace.spans:
            segment = span["id"].rpartition(":")[0]
            inside = [each for each in trace.spans if each["id"].rpartition(":")[0] == segment]
            head = inside[0]
            queries = sum(each["layer"] == "database" for each in inside)
            took = span["end"] - span["start"]
            call = Call(span["service"], head["operation"], trace.id, span["start"], took, bool(span["error"]), queries)
            if span["kind"] == "entry":
                self.calls.append(call)
            if span["error"] and span["logs"]:
                fields = dict(span["logs"][0]["fields"])
                self.failures.append(
                    Failure(
                        *(fields["error.kind"], "", span["operation"], call, span["id"], span["start"]),
                        *(fields["stack"], fields["message"], int(span["id"] in logged)),
                    )
                )

    def services(self, query: Query) -> dict[str, Record]:
        found = _by(self._within(query), lambda each: each.service)
        return {name: _sums(calls) for name, calls in sorted(found.items())}

    def endpoints(self, service: str, query: Query) -> dict[str, Record]:
        found = _by((each for each in self._within(query) if each.service == service), lambda each: each.endpoint)
        return {name: _sums(calls) for name, calls in found.items()}

    def errors(self, query: Query) -> list[Record]:
        text = query.get("q", "").lower()
        matching = [
            each
            for each in self.failures
            if query.get("service") in (None, each.call.service)
            and query.get("endpoint") in (None, each.call.endpoint)
            and text in f"{each.kind} {each.message} {each.operation} {each.stack}".lower()
            and int(query.get("from") or 0) <= each.time <= int(query.get("to") or 10**15)
        ]
        groups = [_group(failures) for failures in _by(matching, lambda each: each.group).values()]
        order = {"count": "count", "first": "first"}.get(query.get("sort", ""), "last")
        return sorted(groups, key=lambda each: -int(each[order]))

    def error_group(self, group: str, query: Query) -> Record | None:
        found = [each for each in self.failures if each.group == group]
        if not found:
            return None
        newest = sorted(found, key=lambda each: -each.time)
        examples = [
            {
                "trace_id": each.call.trace,
                "span": each.span,
                "service": each.call.service,
                "endpoint": each.call.endpoint,
                "operation": each.operation,
                "time": each.time,
                "duration": each.call.took,
                "message": each.message,
                "logs": each.logs,
            }
            for each in newest[:20]
        ]
        shown = {"width": 60_000, "from": newest[0].time - PARTS * 60_000}
        return {**_group(found), **shown, "stack": newest[0].stack, "examples": examples}

    def compare(self, query: Query) -> list[Record]:
        at = int(query["at"])
        rows = []
        for (service, endpoint), calls in _by(self._within(query), lambda each: (each.service, each.endpoint)).items():
            before = _side([each for each in calls if each.start < at])
            after = _side([each for each in calls if each.start >= at])
            enough = min(before["calls"], after["calls"]) >= LEAST
            differs = {
                name: (after[name] > 1.2 * before[name]) - (1.2 * after[name] < before[name]) if enough else 0
                for name in ("p50", "p95", "error_rate", "queries")
            }
            row = {"service": service, "endpoint": endpoint, "before": before, "after": after, "differs": differs}
            rows.append({**row, "worse": float(max(differs.values()) or min(differs.values()))})
        return sorted(rows, key=lambda each: -float(each["worse"]))

    def median(self, query: Query) -> Record:
        found = sorted(
            (each.took, each.trace)
            for each in self.calls
            if (each.service, each.endpoint) == (query["service"], query["endpoint"])
            and not each.failed
            and each.trace != query.get("trace")
        )
        took, trace = found[(len(found) - 1) // 2] if found else (None, None)
        return {"trace_id": trace, "duration": took, "calls": len(found)}

    def _within(self, query: Query) -> list[Call]:
        low, high = int(query.get("from") or 0), int(query.get("to") or 10**15)
        return [each for each in self.calls if low <= each.start <= high]


def _by(found: Iterable[Any], key: Any) -> dict[Any, list[Any]]:
    groups: defaultdict[Any, list[Any]] = defaultdict(list)
    for each in found:
        groups[key(each)].append(each)
    return groups


def quantile(numbers: list[int], share: float) -> int:
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0


def _sums(calls: list[Call]) -> Record:
    last = max(each.start for each in calls)
    low = min(each.start for each in calls)
    width = (last - low) // PARTS + 1
    parts = _by(calls, lambda each: (each.start - low) // width)
    took = [each.took for each in calls]
    errors = sum(each.failed for each in calls)
    recent = [each for each in calls if each.start > last - 300_000]
    return {
        "calls": len(calls),
        "errors": errors,
        "through": 0,
        "error_rate": errors / len(calls),
        "total": sum(took),
        "p50": quantile(took, 0.5),
        "p95": quantile(took, 0.95),
        "p99": quantile(took, 0.99),
        "calls_per_minute": len(recent) / 5,
        "last_call": last,
        "trend": {
            "calls": [len(parts.get(part, [])) for part in range(PARTS)],
            "p95": [
                quantile([each.took for each in parts[part]], 0.95) if part in parts else None for part in range(PARTS)
            ],
        },
    }


def _side(calls: list[Call]) -> Record:
    if not calls:
        return {"calls": 0, "errors": 0, "error_rate": 0, "p50": 0, "p95": 0, "queries": 0}
    sums = _sums(calls)
    kept = {name: sums[name] for name in ("calls", "errors", "error_rate", "p50", "p95")}
    return {**kept, "queries": sum(each.queries for each in calls) / len(calls)}


def _group(failures: list[Failure]) -> Record:
    newest = max(failures, key=lambda each: each.time)
    places = _by(failures, lambda each: (each.call.service, each.call.endpoint))
    first = min(each.time for each in failures)
    width = (newest.time - first) // PARTS + 1
    parts = _by(failures, lambda each: (each.time - first) // width)
    return {
        "id": newest.group,
        "kind": newest.kind,
        "status": newest.status,
        "operation": newest.operation,
        "file": "/srv/stock/app.py",
        "function": "reserve",
        "line": 41,
        "message": newest.message,
        "count": len(failures),
        "first": first,
        "last": newest.time,
        "services": sorted({service for service, _ in places}),
        "endpoints": [
            {"service": service, "name": name, "count": len(found)} for (service, name), found in places.items()
        ],
        "trend": [len(parts.get(part, [])) for part in range(PARTS)],
    }
