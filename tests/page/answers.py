"""The answers of the page's JSON API, over the made-up records: those about traces and logs are the collector's own."""

from __future__ import annotations

import json
import threading
import time
from bisect import bisect_left
from collections import Counter
from typing import Any

from swagent.collector.api.encoding import encode
from swagent.collector.api.instances import status
from swagent.collector.api.parameters import Parameters
from swagent.collector.api.queries import queries
from swagent.collector.store.store import Store

from . import profiled
from .made_up import LANGUAGE, Record, Trace, instance_name, ledger_signals, make_deep_trace, make_trace, wave

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
SERVICES = ("gateway", "mailer", "payments", "shop", "stock")


class Answers:
    """The records of one stand-in. Each public method with a query is one address of the API."""

    deep_id = "deep"
    """The trace of very many spans: not in the list, only by its address."""

    def __init__(self, traces: int) -> None:
        now = int(time.time() * 1000)
        self.version = 0
        self.started = now - SPREAD_MS
        self._lock = threading.Lock()
        self._store, self._deep = Store(), Store()
        self._queries, self._aside = queries(self._store), queries(self._deep)
        self._segments: Counter[str] = Counter()
        self._traces = 0
        self._tasks: list[Record] = []
        self.ordered: list[Record] = []  # what the page has asked for
        for segment in make_deep_trace(self.started, DEEP_SPANS).segments:
            self._deep.add(segment)
        for number in range(traces):
            self._take(make_trace(number, int(self.started + number * SPREAD_MS / traces)))
        if traces:
            self.version = traces
            self._tasks = self._profiles()

    def close(self) -> None:
        """Forget all."""
        self._store.close()
        self._deep.close()

    def add(self, count: int, now: int) -> None:
        """That many traces start now."""
        with self._lock:
            for _ in range(count):
                self._take(make_trace(self._traces, now))
            self.version += count

    def _take(self, trace: Trace) -> None:
        self._traces += 1
        for segment in trace.segments:
            self._store.add(segment)
        for line in trace.logs:
            self._store.add(line)
        self._segments.update(each.service for each in trace.segments)

    def ask(self, address: str, query: Query, **path: str) -> Any:
        """The collector's own answer.

        :param address: with the names of its parameters
        """
        found = self._aside if path.get("trace") == self.deep_id else self._queries
        with self._lock:
            answer = found[address](Parameters(path, query))
        return None if answer is None else {**json.loads(encode(answer)), "version": self.version}

    def status(self, query: Query) -> Record:
        known = {"meters": len(METERS) * 10, "dropped_for_count": 120} if self._traces else {}
        served = {"grpc": "127.0.0.1:11800", "http": "127.0.0.1:12800", "kafka": None}
        return {**status(self._store), "started_at": self.started, **known, **served}

    def services(self, query: Query) -> Any:
        return self.ask("/api/services", query)

    def endpoints(self, service: str, query: Query) -> Any:
        return self.ask("/api/services/{service:path}/endpoints", query, service=service)

    def errors(self, query: Query) -> Any:
        return self.ask("/api/errors", query)

    def error_group(self, group: str, query: Query) -> Any:
        return self.ask("/api/errors/{group}", query, group=group)

    def median(self, query: Query) -> Any:
        return self.ask("/api/median", query)

    def map(self, query: Query) -> Any:
        return self.ask("/api/map", query)

    def traces(self, query: Query) -> Any:
        return self.ask("/api/traces", query)

    def trace(self, trace: str, query: Query) -> Any:
        return self.ask("/api/traces/{trace:path}", query, trace=trace)

    def logs(self, query: Query) -> Any:
        return self.ask("/api/logs", query)

    def trace_findings(self, trace: str, query: Query) -> Record | None:
        """The culprit is the span that took longest of those that no other service answered."""
        found = self.trace(trace, query)
        if found is None:
            return None
        called = {each["parent"] for each in found["spans"]}
        last = [each for each in found["spans"] if each["id"] not in called]
        longest = max(last, key=lambda each: int(each["end"]) - int(each["start"]))
        return {"trace_id": trace, "culprit": _finding(trace, longest), "findings": []}

    def findings(self, query: Query) -> Record:
        newest = self.traces({})["traces"][0]["trace_id"]
        found = self.trace_findings(newest, {})
        assert found is not None
        return {"requests": self._traces, "ms": 1000, "samples": 1, "findings": [found["culprit"]]}

    def processes(self, query: Query) -> Record:
        books = {(each["service"], each["instance"]): each["signals"] for each in self.ledgers(query)["agents"]}
        kept = ("service", "state", "last_seen", "properties", "language", "meters")
        now = {"swagent_loop_lag": 1.5, "swagent_tasks": 40, "swagent_memory": 84_000_000}
        processes: list[Record] = []
        for each in self.instances({})["instances"]:
            said = each["properties"]
            place = {"instance": each["name"], "host": said["hostname"], "pid": said["Process No."]}
            times = {"started": self.started, "reported": each["last_seen"], "is_final": False}
            signals = {"signals": books.get((each["service"], each["name"]), []), "runtime": said["python"], "now": now}
            processes.append({**{name: each[name] for name in kept}, **place, **times, **signals})
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
        wanted = [query["service"]] if query.get("service") else [each for each in SERVICES if each in self._segments]
        now = int(time.time() * 1000)
        return {"instances": [_instance(name, number, now) for name in wanted for number in range(2)]}

    def meters(self, query: Query) -> Record:
        found = [
            {"service": each["service"], "instance": each["name"], "name": name, "labels": labels, "last": 1.0,
             "kind": "histogram" if name in HISTOGRAMS else "single"}
            for each in self.instances(query)["instances"]
            for name, (labels, _) in METERS.items()
        ]  # fmt: skip
        return {"meters": found}

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
        agents = [
            {"service": name, "instance": instance_name(name, 0), "state": "alive", "time": now, "is_final": False,
             "signals": list(ledger_signals(name, count))}
            for name, count in sorted(self._segments.items())
        ]  # fmt: skip
        return {"agents": agents}

    def _profiles(self) -> list[Record]:
        """A profile of five orders, and tasks that have come less far."""
        rows = self.traces({"endpoint": "POST:/orders", "limit": "5"})["traces"]
        # the segment of the shop in each
        found = [
            profiled.make_segment(each, span["id"].rpartition(":")[0])
            for each in (self.trace(row["trace_id"], {}) for row in rows)
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
        blocked_at = int(time.time() * 1000) - 300_000
        text = "The event loop did not turn for 312 ms: mailer.render:41"
        held = {"duration": "312", "frame": "mailer.render:41", "count": "1"}
        started, refused_at = self.started, self.started + 600_000
        found = [
            *((name, "Start", "the process started", "Normal", started, started + 900, {}) for name in SERVICES),
            ("mailer", "MailRefused", "421 too many connections", "Error", refused_at, None, {}),
            ("mailer", "loop_blocked", text, "Normal", blocked_at, blocked_at + 312, held),
        ]
        names = ("service", "name", "message", "type", "time", "end", "parameters")
        return {
            "events": [
                {**dict(zip(names, each, strict=True)), "instance": instance_name(each[0], 0), "endpoint": ""}
                for each in found
                if query.get("service") in (None, "", each[0])
            ]
        }


def _finding(trace_id: str, span: Record) -> Record:
    ms = int(span["end"]) - int(span["start"])
    sentence = f"95 % · {span['service']} → {span['peer']} · {span['operation']} · {ms} ms"
    return {
        "kind": "slow_dependency", "sentence": sentence, "frame": "",
        "service": span["service"], "operation": span["operation"], "confidence": "high", "peer": span["peer"],
        "link": f"#/traces/{trace_id}?span={span['id']}", "count": 1, "ms": ms, "failures": 0, "share": 0.95,
        "places": [{"trace_id": trace_id, "span": span["id"]}], "baseline": {"p50": 8, "calls": 4841},
    }  # fmt: skip


def _instance(service: str, number: int, now: int) -> Record:
    alive = not (service == "mailer" and number)
    properties = {
        "OS Name": "Linux", "Process No.": str(4100 + number), "hostname": f"{service}-{number}", "language": LANGUAGE,
        "python": "CPython 3.12.4", "swagent": "0.1.0", "loop": "uvloop", "ipv4": f"10.0.0.{number + 11}",
    }  # fmt: skip
    return {
        "service": service, "name": instance_name(service, number), "properties": properties, "alive": alive,
        "state": "alive" if alive else "silent", "last_seen": now - (2_000 if alive else 340_000),
        "language": LANGUAGE, "meters": list(METERS),
    }  # fmt: skip


def _value(query: Query, labels: Record, top: float, at: int) -> float:
    name = f"{query['name']}{query.get('instance', '')}{sorted(labels.items())}"
    minute = at / 60_000
    if not top:  # a counter: it only grows
        return float(int((at - _BEGAN) / 900 * (1 + bisect_left([3, 6, 9], len(name) % 10))))
    value = top * wave(name, minute) * (2.6 if labels.get("quantile") == "0.99" else 1)
    return round(value) if query["name"] in ("instance_pvm_thread_active_count", "swagent_tasks") else round(value, 2)
