"""The answers of the page's JSON API, over the made-up records."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from typing import Any

from swagent.collector.api.heatmap import count_cells

from . import profiled
from .made_up import LANGUAGE, Record, Trace, instance_name, ledger_signals, make_deep_trace, make_trace, summary, wave
from .made_up_calls import LEAST, Calls

Query = dict[str, str]
SPREAD_MS = 30 * 60_000
DEEP_SPANS = 2000
SAMPLE_MS = 20_000
METERS: dict[str, tuple[list[Record], float]] = {
    "instance_pvm_process_cpu_utilization": ([{}], 60),
    "instance_pvm_total_cpu_utilization": ([{}], 90),
    "instance_pvm_process_mem_utilization": ([{}], 12),
    "instance_pvm_thread_active_count": ([{}], 24),
    "swagent_tasks": ([{}], 40),
    "swagent_loop_lag": ([{}], 12),
    "swagent_memory": ([{}], 140e6),
    "instance_pvm_gc_time": ([{}], 30),
    "swagent_records_queued": ([{"signal": "segment"}, {"signal": "log"}], 60),
    "swagent_records_dropped": ([{"signal": "segment", "reason": "evicted"}], 0),
    "shop_orders": ([{"payment": "card"}, {"payment": "invoice"}], 0),
    "shop_basket_size": ([{}], 9),
    "shop_checkout_duration": ([{}], 400),
    "swagent_records_confirmed": ([{"signal": each} for each in ("segment", "log", "meter")], 0),
    "swagent_delivery_latency": ([{"signal": "segment"}], 40),
}
CHARTED = {
    name
    for name in METERS
    if name.startswith(("swagent_", "instance_pvm_process", "instance_pvm_thread", "instance_pvm_gc"))
    and name not in ("swagent_records_confirmed", "swagent_delivery_latency")
}
# before anything that is asked for
_BEGAN = int(time.time() * 1000) - 2 * SPREAD_MS
HISTOGRAMS = {"shop_checkout_duration", "swagent_delivery_latency"}
TREND = {"start": 0, "width": 60_000}
SERVICES = ("gateway", "mailer", "payments", "shop", "stock")


class Answers:
    """The records of one stand-in. Each public method is one address of the API."""

    def __init__(self, traces: int) -> None:
        self.version = 0
        self.started = int(time.time() * 1000) - SPREAD_MS
        self._lock = threading.Lock()
        self._rows: list[Record] = []  # by their start, the oldest first
        self._starts: list[int] = []
        self._numbers: dict[str, tuple[int, int]] = {}
        self._logs: list[Record] = []
        self._durations: dict[str, list[int]] = defaultdict(list)
        self._endpoints: dict[tuple[str, str], list[tuple[int, bool]]] = defaultdict(list)
        self._edges: dict[tuple[str, str], list[tuple[int, bool]]] = defaultdict(list)
        self._errors: Counter[str] = Counter()
        self._calls = Calls()
        self._deep: Trace | None = None
        self._tasks: list[Record] = []
        self.ordered: list[Record] = []  # what the page has asked for
        now = int(time.time() * 1000)
        if traces:
            step = SPREAD_MS / traces
            for number in range(traces):
                self._take(make_trace(number, int(now - SPREAD_MS + number * step)))
            self._deep = make_deep_trace(now - SPREAD_MS, DEEP_SPANS)
            self.version = traces
            self._tasks = self._profiles()

    @property
    def deep_id(self) -> str:
        """The trace of very many spans: not in the list, only by its address."""
        assert self._deep is not None
        return self._deep.id

    def add(self, count: int, now: int) -> None:
        """That many traces start now."""
        with self._lock:
            for _ in range(count):
                self._take(make_trace(len(self._rows), now))
            self.version += count

    def _take(self, trace: Trace) -> None:
        row = summary(trace)
        self._rows.append(row)
        self._starts.append(trace.start)
        self._numbers[trace.id] = (trace.number, trace.start)
        self._logs.extend(trace.logs)
        self._calls.take(trace)
        by_id = {each["id"]: each for each in trace.spans}
        for span in trace.spans:
            took, failed = span["end"] - span["start"], bool(span["error"])
            above = by_id.get(span["parent"])
            if span["kind"] == "entry":
                self._durations[span["service"]].append(took)
                self._errors[span["service"]] += failed
                self._endpoints[span["service"], span["operation"]].append((took, failed))
                self._edges[above["service"] if above else "User", span["service"]].append((took, failed))
            elif span["kind"] == "exit" and not any(each["parent"] == span["id"] for each in trace.spans):
                self._edges[span["service"], span["peer"]].append((took, failed))

    def status(self, query: Query) -> Record:
        count = len(self._rows)
        return {
            "version": self.version,
            "segments": count * 3,
            "logs": len(self._logs),
            "meters": len(METERS) * 10 if count else 0,
            "services": len(self._durations),
            "dropped_for_age": 0,
            "dropped_for_count": 120 if count else 0,
            "limits": {"segments": 50_000, "logs": 20_000, "meters": 50_000, "max_age_s": 3600},
            "store": "memory",
            "grpc": "127.0.0.1:11800",
            "http": "127.0.0.1:12800",
            "kafka": None,
            "started_at": self.started,
        }

    def services(self, query: Query) -> Record:
        with self._lock:
            sums = self._calls.services(query)
            found = [
                {
                    "name": name,
                    "instances": 2,
                    "endpoints": sum(each == name for each, _ in self._endpoints),
                    **each,
                    "last_seen": self._starts[-1],
                }
                for name, each in sums.items()
            ]
        return {"version": self.version, "trend": TREND, "services": found}

    def endpoints(self, service: str, query: Query) -> Record:
        with self._lock:
            found = [{"name": name, **sums} for name, sums in self._calls.endpoints(service, query).items()]
        return {"trend": TREND, "left_out": 0, "endpoints": found}

    def errors(self, query: Query) -> Record:
        with self._lock:
            groups = self._calls.errors(query)
        return {
            "version": self.version,
            "total": len(groups),
            "failures": sum(each["count"] for each in groups),
            "through": 0,
            "left_out": 0,
            "forgotten": 0,
            "trend": TREND,
            "groups": groups,
        }

    def error_group(self, group: str, query: Query) -> Record | None:
        with self._lock:
            return self._calls.error_group(group, query)

    def compare(self, query: Query) -> Record:
        with self._lock:
            found = self._calls.compare(query)
        kept = {"version": self.version, "at": int(query["at"]), "least": LEAST}
        return {**kept, "total": len(found), "left_out": 0, "endpoints": found}

    def median(self, query: Query) -> Record:
        with self._lock:
            return self._calls.median(query)

    def map(self, query: Query) -> Record:
        with self._lock:
            edges = [
                {"from": one, "to": other, **_numbers(calls), "calls_per_minute": len(calls) / 30, "last_call": None}
                for (one, other), calls in sorted(self._edges.items())
            ]
            names = dict.fromkeys(each[end] for each in edges for end in ("from", "to"))
            nodes = []
            for name in names:
                calls = self._durations.get(name) or [
                    took for (one, other), all_ in self._edges.items() if name in (one, other) for took, _ in all_
                ]
                errors = self._errors[name] or sum(
                    e["errors"] for e in edges if e["to"] == name and name not in self._durations
                )
                kind = "service" if name in self._durations else "peer"
                sums = {"calls": len(calls), "errors": errors, "through": 0, "p50": _quantile(calls, 0.5)}
                nodes.append({"name": name, "kind": kind, **sums})
        return {"version": self.version, "nodes": nodes, "edges": edges}

    def traces(self, query: Query) -> Record:
        with self._lock:
            rows = list(self._rows)
        found = [each for each in reversed(rows) if _matches(each, query)]
        if query.get("sort") == "slowest":
            found.sort(key=lambda each: -int(each["duration"]))
        ids = [each["trace_id"] for each in found] if "cursor" in query else []
        begin = ids.index(query["cursor"]) + 1 if "cursor" in query else 0
        page = found[begin : begin + int(query.get("limit", "50"))]
        more = begin + len(page) < len(found)
        return {
            "version": self.version,
            "total": len(found),
            "total_is_exact": True,
            "next": page[-1]["trace_id"] if more else None,
            "is_complete": True,
            "traces": page,
        }

    def heatmap(self, query: Query) -> Record:
        with self._lock:
            found = [each for each in self._rows if _matches(each, query)]
        points = [(each["start"], each["duration"], each["failed"]) for each in found]
        return {"version": self.version, "total": len(found), **count_cells(points)}

    def differences(self, query: Query) -> Record:
        total, inside = (self.heatmap({**query, **box})["total"] for box in ({}, _sides(query)))
        shares = {"inside": inside, "outside": 0, "share_inside": 1.0, "share_outside": 0.0}
        name = {"kind": "tag", "key": "item", "value": "umbrella", "term": "item=umbrella"}
        return {"version": 0, "inside": inside, "outside": total - inside, "differences": [{**name, **shares}]}

    def tags(self, query: Query) -> Record:
        names = ("db.statement", "db.type", "http.method", "mq.topic", "status_code", "url")
        return {"version": self.version, "keys": [{"key": name, "count": 100} for name in names]}

    def tag_values(self, key: str, query: Query) -> Record:
        values = [
            {"value": each, "count": 9, "term": f"{key}={each}"} for each in ("200", "500") if key == "status_code"
        ]
        return {"version": self.version, "key": key, "values": values, "more": 0}

    def trace(self, trace_id: str, query: Query) -> Record | None:
        if self._deep is not None and trace_id == self._deep.id:
            trace = self._deep
        elif trace_id in self._numbers:
            trace = make_trace(*self._numbers[trace_id])
        else:
            return None
        row = summary(trace)
        kept = {name: row[name] for name in ("trace_id", "start", "duration", "services")}
        after = max(max(each["end"] for each in trace.spans) - row["start"] - row["duration"], 0)
        kept |= {"after": after, "is_messaging": after > 0, "left_out": 0}
        return {**kept, "spans": trace.spans, "logs": trace.logs}

    def trace_findings(self, trace_id: str, query: Query) -> Record | None:
        """The culprit is the span that took longest of those that no other service answered."""
        trace = self.trace(trace_id, query)
        if trace is None:
            return None
        called = {each["parent"] for each in trace["spans"]}
        last = [each for each in trace["spans"] if each["id"] not in called]
        longest = max(last, key=lambda each: int(each["end"]) - int(each["start"]))
        return {"trace_id": trace_id, "culprit": _finding(trace_id, longest), "findings": []}

    def findings(self, query: Query) -> Record:
        newest = self.traces({})["traces"][0]["trace_id"]
        found = self.trace_findings(newest, {})
        assert found is not None
        return {"requests": len(self._rows), "ms": 1000, "samples": 1, "findings": [found["culprit"]]}

    def loop(self, query: Query) -> Record:
        return {"version": self.version, "spans": [], "left_out": 0}

    def logs(self, query: Query) -> Record:
        with self._lock:
            found = [each for each in reversed(self._logs) if _log_matches(each, query)]
        begin = int(query.get("cursor", "0"))
        page = found[begin : begin + int(query.get("limit", "100"))]
        more = begin + len(page) < len(found)
        following = str(begin + len(page)) if more else None
        return {"version": self.version, "total": len(found), "next": following, "logs": page}

    def log(self, number: str, query: Query) -> Record | None:
        with self._lock:
            return next((each for each in self._logs if each["id"] == number), None)

    def processes(self, query: Query) -> Record:
        books = {(each["service"], each["instance"]): each["signals"] for each in self.ledgers(query)["agents"]}
        processes: list[Record] = []
        for each in self.instances({})["instances"]:
            properties = each["properties"]
            processes.append(
                {
                    **{
                        name: each[name]
                        for name in ("service", "state", "last_seen", "properties", "language", "meters")
                    },
                    "instance": each["name"],
                    "host": properties["hostname"],
                    "pid": properties["Process No."],
                    "runtime": properties["python"],
                    "started": self.started,
                    "signals": books.get((each["service"], each["name"]), []),
                    "reported": each["last_seen"],
                    "is_final": False,
                    "now": {"swagent_loop_lag": 1.5, "swagent_tasks": 40, "swagent_memory": 84_000_000},
                }
            )
        return {"version": self.version, "processes": processes}

    def process(self, query: Query) -> Record:
        meters = [self.series({**query, "name": name}) for name in METERS if name in CHARTED]
        events = [
            each
            for each in self.events(query)["events"]
            if each["instance"] == query["instance"] and each["time"] >= int(query.get("from") or 0)
        ]
        return {"version": self.version, "meters": meters, "events": events}

    def losses(self, query: Query) -> Record:
        """The mailer lost some of its segments, all the time."""
        lost = {"service": "mailer", "instance": instance_name("mailer", 0), "signal": "segment", "count": 12}
        begin = int(query["from"])
        return {"losses": [{**lost, "kind": "dropped", "reason": "evicted", "from": begin, "to": begin + 20_000}]}

    def instances(self, query: Query) -> Record:
        wanted = [query["service"]] if query.get("service") else [each for each in SERVICES if each in self._durations]
        now = int(time.time() * 1000)
        return {"instances": [_instance(name, number, now) for name in wanted for number in range(2)]}

    def meters(self, query: Query) -> Record:
        return {
            "meters": [
                {
                    "service": each["service"],
                    "instance": each["name"],
                    "name": name,
                    "kind": "histogram" if name in HISTOGRAMS else "single",
                    "labels": labels,
                    "last": 1.0,
                }
                for each in self.instances(query)["instances"]
                for name, (labels, _) in METERS.items()
            ]
        }

    def series(self, query: Query) -> Record | None:
        if query["name"] not in METERS:
            return None
        labels, top = METERS[query["name"]]
        now = int(time.time() * 1000) // SAMPLE_MS * SAMPLE_MS
        times = range(max(now - SPREAD_MS, int(query.get("from") or 0)), now, SAMPLE_MS)
        histogram = query["name"] in HISTOGRAMS
        if histogram:
            labels = [{**each, "quantile": quantile} for each in labels for quantile in ("0.5", "0.99")]
        series = [{"labels": each, "points": [[at, _value(query, each, top, at)] for at in times]} for each in labels]
        return {"name": query["name"], "kind": "histogram" if histogram else "single", "series": series}

    def ledgers(self, query: Query) -> Record:
        now = int(time.time() * 1000)
        return {
            "agents": [
                {
                    "service": name,
                    "instance": instance_name(name, 0),
                    "state": "alive",
                    "time": now,
                    "signals": list(ledger_signals(name, len(took))),
                    "is_final": False,
                }
                for name, took in sorted(self._durations.items())
            ]
        }

    def _profiles(self) -> list[Record]:
        """A profile of five orders, and tasks that have come less far."""
        rows = [each for each in self._rows if each["endpoint"] == "POST:/orders"][:5]
        traces = [self.trace(row["trace_id"], {}) for row in rows]
        # the segment of the shop in each
        found = [
            profiled.make_segment(each, span["id"].rpartition(":")[0])
            for each in traces
            if each is not None
            for span in each["spans"]
            if span["kind"] == "entry" and span["service"] == "shop"
        ]
        return [
            profiled.make_task("waits", "waiting", [], service="stock", endpoint="GET:/stock/{item}"),
            profiled.make_task("profiled", "finished", found),
            profiled.make_task("missed", "missed", [], service="mailer", asking=0),
        ]

    def profiles(self, query: Query) -> Record:
        wanted = query.get("trace_id")
        tasks = [
            {**each, "segments": [part for part in each["segments"] if wanted in (None, part["trace_id"])]}
            for each in self._tasks
        ]
        kept = [each for each in tasks if each["segments"] or not wanted]
        return {"version": self.version, "asking": {each["service"]: 2 for each in kept}, "tasks": kept}

    def profile(self, task: str, query: Query) -> Record | None:
        found = next((each for each in self._tasks if each["id"] == task), None)
        if found is None:
            return None
        nodes = profiled.make_nodes(query.get("segment", "")) if found["segments"] else []
        return {"version": self.version, **found, "left_out": 0, "nodes": nodes}

    def order_profile(self, order: Record) -> Record | None:
        """A new task; None: the service has another one."""
        if any(each["service"] == order["service"] and each["state"] == "waiting" for each in self._tasks):
            return None
        self.ordered.append(order)
        self._tasks.insert(0, profiled.make_task(f"new-{len(self.ordered)}", "waiting", [], **order))
        self.version += 1
        return self._tasks[0]

    def take_profile(self) -> None:
        """An agent takes the newest task, and follows requests."""
        before = next(each for each in self._tasks if each["id"] == "profiled")
        new = self._tasks[0]
        self._tasks[0] = profiled.make_task(new["id"], "running", before["segments"][:2])
        self.version += 1

    def events(self, query: Query) -> Record:
        found = [
            {
                "time": self.started,
                "end": self.started + 900,
                "service": name,
                "instance": instance_name(name, 0),
                "endpoint": "",
                "name": "Start",
                "message": "the process started",
                "type": "Normal",
                "parameters": {},
            }
            for name in SERVICES
            if query.get("service") in (None, "", name)
        ]
        failed: Record = {
            "time": self.started + 600_000,
            "end": None,
            "service": "mailer",
            "instance": instance_name("mailer", 0),
            "endpoint": "",
            "parameters": {},
        }
        if query.get("service") in (None, "", "mailer"):
            found.append({**failed, "name": "MailRefused", "message": "421 too many connections", "type": "Error"})
        held = {"duration": "312", "frame": "mailer.render:41", "count": "1"}
        if query.get("service") in (None, "", "mailer"):
            text = "The event loop did not turn for 312 ms: mailer.render:41"
            at = int(time.time() * 1000) - 300_000
            blocked = {**failed, "time": at, "end": at + 312, "name": "loop_blocked", "message": text, "type": "Normal"}
            found.append({**blocked, "parameters": held})
        return {"events": found}


def _matches(row: Record, query: Query) -> bool:
    text = query.get("q", "").lower()
    return (
        (not query.get("service") or query["service"] in row["services"])
        and (not query.get("endpoint") or row["endpoint"] == query["endpoint"])
        and row["duration"] >= int(query.get("min_ms") or 0)
        and row["duration"] <= int(query.get("max_ms") or 10**12)
        and (query.get("errors") != "1" or row["failed"])
        and int(query.get("from") or 0) <= row["start"] <= int(query.get("to") or 10**15)
        and (not text or text in row["endpoint"].lower() or text in row["trace_id"])
    )


def _finding(trace_id: str, span: Record) -> Record:
    ms = int(span["end"]) - int(span["start"])
    sentence = f"95 % · {span['service']} → {span['peer']} · {span['operation']} · {ms} ms"
    return {
        "kind": "slow_dependency", "sentence": sentence, "frame": "",
        "service": span["service"], "operation": span["operation"], "confidence": "high", "peer": span["peer"],
        "link": f"#/traces/{trace_id}?span={span['id']}", "count": 1, "ms": ms, "failures": 0, "share": 0.95,
        "places": [{"trace_id": trace_id, "span": span["id"]}], "baseline": {"p50": 8, "calls": 4841},
    }  # fmt: skip


def _sides(query: Query) -> Query:
    return {each.removeprefix("box_"): value for each, value in query.items() if each.startswith("box_")}


def _log_matches(log: Record, query: Query) -> bool:
    return (
        all(log[name] == query[name] for name in ("service", "level", "trace_id") if query.get(name))
        and query.get("q", "").lower() in log["text"].lower()
        and int(query.get("from") or 0) <= log["time"] <= int(query.get("to") or 10**15)
    )


def _numbers(calls: list[tuple[int, bool]]) -> dict[str, Any]:
    took = [each for each, _ in calls]
    errors = sum(failed for _, failed in calls)
    times = {
        "total": sum(took),
        "p50": _quantile(took, 0.5),
        "p95": _quantile(took, 0.95),
        "p99": _quantile(took, 0.99),
    }
    return {"calls": len(calls), "errors": errors, "through": 0, "error_rate": errors / max(1, len(calls)), **times}


def _quantile(numbers: list[int], share: float) -> int:
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0


def _instance(service: str, number: int, now: int) -> Record:
    properties = {
        "OS Name": "Linux",
        "Process No.": str(4100 + number),
        "hostname": f"{service}-{number}",
        "language": LANGUAGE,
        "python": "CPython 3.12.4",
        "swagent": "0.1.0",
        "loop": "uvloop",
        "ipv4": f"10.0.0.{number + 11}",
    }
    alive = not (service == "mailer" and number)
    return {
        "service": service,
        "name": instance_name(service, number),
        "properties": properties,
        "alive": alive,
        "state": "alive" if alive else "silent",
        "last_seen": now - (2_000 if alive else 340_000),
        "language": LANGUAGE,
        "meters": list(METERS),
    }


def _value(query: Query, labels: Record, top: float, at: int) -> float:
    name = f"{query['name']}{query.get('instance', '')}{sorted(labels.items())}"
    minute = at / 60_000
    if not top:  # a counter: it only grows
        return float(int((at - _BEGAN) / 900 * (1 + bisect_left([3, 6, 9], len(name) % 10))))
    value = top * wave(name, minute) * (2.6 if labels.get("quantile") == "0.99" else 1)
    return round(value) if query["name"] in ("instance_pvm_thread_active_count", "swagent_tasks") else round(value, 2)
