"""Made-up records that look real: a shop of five services, its traces, logs, meters, instances and ledgers.

Deterministic for a seed, whatever was asked for before. The shapes are those of the page's JSON API.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

Record = dict[str, Any]

LANGUAGE = "python"
STACK = """Traceback (most recent call last):
  File "/srv/stock/app.py", line 41, in reserve
    row = await pool.fetchrow(RESERVE, item, amount)
  File "/srv/stock/pool.py", line 118, in fetchrow
    raise OutOfStock(f"{item} is sold out")
stock.errors.OutOfStock: umbrella is sold out"""
HOSTILE = "<script>alert(1)</script>"
ITEMS = ("lamp", "chair", "umbrella", "desk", "kettle", "bicycle")


@dataclass(frozen=True)
class Call:
    """One span of a template, with what it calls. Times are shares of the caller's time."""

    service: str
    operation: str
    kind: str
    component: str
    layer: str
    peer: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    below: tuple[Call, ...] = ()
    share: float = 0.5
    may_fail: float = 0.0


def _http(service: str, path: str, *below: Call, share: float = 0.6, may_fail: float = 0.0) -> Call:
    """A call over HTTP: the caller's exit span is made by `_remote`, this is the entry span."""
    tags = (("http.method", path.split(":", 1)[0]), ("url", f"http://{service}{path.split(':', 1)[1]}"))
    return Call(service, path, "entry", "Starlette", "http", "", tags, below, share, may_fail)


def _remote(caller: str, entry: Call) -> Call:
    return Call(
        caller, entry.operation, "exit", "HTTPX", "http", f"{entry.service}:8000", entry.tags[:1], (entry,), entry.share
    )


def _sql(service: str, statement: str, share: float = 0.3, may_fail: float = 0.0) -> Call:
    tags = (("db.type", "postgresql"), ("db.statement", statement))
    return Call(
        service,
        f"PostgreSQL/{statement.split()[0]}",
        "exit",
        "asyncpg",
        "database",
        "postgres:5432",
        tags,
        (),
        share,
        may_fail,
    )


def _cache(service: str, command: str) -> Call:
    return Call(
        service, f"Redis/{command}", "exit", "redis-py", "cache", "redis:6379", (("cache.cmd", command),), (), 0.05
    )


def _work(service: str, name: str, *below: Call, share: float = 0.4) -> Call:
    return Call(service, name, "local", "", "", "", (), below, share)


RESERVE = _http(
    "stock",
    "POST:/stock/{item}/reserve",
    _cache("stock", "GET"),
    _sql("stock", "SELECT amount FROM stock WHERE item = $1"),
    _sql("stock", "UPDATE stock SET amount = amount - $1 WHERE item = $2", 0.4, 0.05),
    share=0.45,
)
CHARGE = _http(
    "payments",
    "POST:/charges",
    _work("payments", "check fraud", share=0.25),
    Call(
        "payments",
        "POST:/v1/charges",
        "exit",
        "HTTPX",
        "http",
        "api.cards.example:443",
        (("http.method", "POST"),),
        (),
        0.6,
        0.02,
    ),
    share=0.4,
)
QUEUED = Call(
    "shop",
    "Kafka/orders/Producer",
    "exit",
    "kafka-python",
    "mq",
    "kafka:9092",
    (("mq.topic", "orders"),),
    (
        Call(
            "mailer",
            "Kafka/orders/Consumer",
            "entry",
            "kafka-python",
            "mq",
            "kafka:9092",
            (("mq.topic", "orders"),),
            (
                _work("mailer", "render mail"),
                Call("mailer", "SMTP/send", "exit", "aiosmtplib", "unknown", "smtp:25", (), (), 0.5),
            ),
            0.9,
        ),
    ),
    0.2,
)
ORDER = _http(
    "gateway",
    "POST:/orders",
    _remote(
        "gateway",
        _http(
            "shop",
            "POST:/orders/{item}",
            _work("shop", "price", _cache("shop", "MGET"), share=0.15),
            _remote("shop", RESERVE),
            _remote("shop", CHARGE),
            QUEUED,
            share=0.92,
        ),
    ),
)
BROWSE = _http(
    "gateway",
    "GET:/items",
    _remote(
        "gateway",
        _http("shop", "GET:/items", _cache("shop", "GET"), _sql("shop", "SELECT * FROM items LIMIT 50"), share=0.9),
    ),
)
STOCK = _http(
    "gateway",
    "GET:/stock/{item}",
    _remote("gateway", _http("stock", "GET:/stock/{item}", _cache("stock", "GET"), share=0.8)),
)
HEALTH = _http("stock", "GET:/health")
ODD = _http("shop", "GET:/search", _work("shop", HOSTILE, _sql("shop", "SELECT * FROM items WHERE name = '<b>&amp;'")))
TEMPLATES = ((ORDER, 30, 240.0), (BROWSE, 45, 38.0), (STOCK, 15, 17.0), (HEALTH, 9, 3.0), (ODD, 1, 30.0))
COMPONENT_OF_FAILURE = (
    ("event", "error"),
    ("error.kind", "stock.errors.OutOfStock"),
    ("message", "umbrella is sold out"),
)


@dataclass
class Trace:
    """One trace while it is being made."""

    number: int
    start: int
    random: Random
    spans: list[Record] = field(default_factory=list)
    logs: list[Record] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"{Random(self.number).getrandbits(96):024x}.{self.number}"


def make_trace(number: int, start: int) -> Trace:
    """The trace of that number; its spans in tree order."""
    random = Random(f"trace {number}")
    trace = Trace(number, start, random)
    (template, typical), *_ = random.choices(
        [(each, ms) for each, _, ms in TEMPLATES], [each for _, each, _ in TEMPLATES]
    )
    # a few are very slow, most are near the typical time
    took = max(1.0, typical * random.lognormvariate(0, 0.45) * (random.uniform(4, 14) if random.random() < 0.02 else 1))
    _add(trace, template, None, 0, float(start), took, f"seg{number}.0")
    return trace


def make_deep_trace(start: int, spans: int) -> Trace:
    """One trace with very many spans: a batch job."""
    trace = Trace(10**9, start, Random("deep"))
    batch = Call("mailer", "nightly batch", "entry", "", "unknown")
    root = _add(trace, batch, None, 0, float(start), spans * 4.0, "segdeep.0")
    for index in range(spans - 1):
        _add(trace, _work("mailer", f"mail {index}"), root, 1, start + index * 4.0, 3.0, "segdeep.0")
    return trace


def _add(trace: Trace, call: Call, parent: str | None, depth: int, start: float, took: float, segment: str) -> str:
    random = trace.random
    span: Record = {
        "id": f"{segment}:{sum(each['id'].startswith(segment + ':') for each in trace.spans) if depth < 9 else 0}",
        "parent": parent,
        "depth": depth,
        "service": call.service,
        "instance": instance_name(call.service, random.randrange(2)),
        "operation": call.operation,
        "kind": call.kind,
        "layer": call.layer,
        "component": call.component,
        "peer": call.peer,
        "start": round(start),
        "end": round(start + took),
        "error": False,
        "tags": [list(each) for each in call.tags],
        "logs": [],
        "missing_parent": False,
        "shift": 0,
        "parents": [],
        "consumers": [],
    }
    if segment == "segdeep.0":
        span["id"] = f"{segment}:{len(trace.spans)}"
    trace.spans.append(span)
    at = start + took * 0.04
    for below in call.below:
        spent = took * 0.92 * min(below.share, 0.95) * random.uniform(0.75, 1.0)
        inner = f"{segment}.{len(trace.spans)}" if below.kind == "entry" else segment
        _add(trace, below, span["id"], depth + 1, at, spent, inner)
        at = min(at + spent * (1.03 if below.kind != "exit" or below.layer != "cache" else 1.0), start + took * 0.97)
    _fail(trace, span, call)
    return str(span["id"])


def _fail(trace: Trace, span: Record, call: Call) -> None:
    failed = trace.random.random() < call.may_fail
    below = [each for each in trace.spans if each["parent"] == span["id"]]
    if failed:
        span["error"] = True
        fields = [list(each) for each in (*COMPONENT_OF_FAILURE, ("stack", STACK))]
        span["logs"].append({"time": span["end"], "fields": fields})
        trace.logs.append(make_log(trace, span, "ERROR", "umbrella is sold out\n" + STACK))
    elif any(each["error"] for each in below):
        span["error"] = True
    if span["kind"] == "entry" and span["layer"] == "http":
        span["tags"].append(["status_code", "500" if span["error"] else "200"])
        if trace.random.random() < 0.06:
            text = trace.random.choice(("few left: {}", "slow answer for {}", "retrying {}")).format(
                trace.random.choice(ITEMS)
            )
            trace.logs.append(make_log(trace, span, trace.random.choice(("WARNING", "WARNING", "INFO")), text))


def make_log(trace: Trace, span: Record, level: str, text: str) -> Record:
    segment, _, number = str(span["id"]).rpartition(":")
    return {
        "id": f"{trace.number}-{len(trace.logs)}",
        "time": (span["start"] + span["end"]) // 2,
        "service": span["service"],
        "instance": span["instance"],
        "level": level,
        "logger": f"{span['service']}.app",
        "text": text,
        "trace_id": trace.id,
        "segment_id": segment,
        "span_id": int(number),
        "endpoint": span["operation"],
        "tags": [["thread", "MainThread"]],
    }


def summary(trace: Trace) -> Record:
    """The trace as a row of the list."""
    root = trace.spans[0]
    return {
        "trace_id": trace.id,
        "start": trace.start,
        "duration": root["end"] - root["start"],
        "endpoint": root["operation"],
        "service": root["service"],
        "services": list(dict.fromkeys(each["service"] for each in trace.spans)),
        "spans": len(trace.spans),
        "errors": sum(each["error"] for each in trace.spans),
        "failed": any(each["error"] for each in trace.spans),
        "has_logs": bool(trace.logs),
        "failure": _failure(trace),
        "mostly": {"kind": "own", "text": "own code", "share": 0.5},
    }


def _failure(trace: Trace) -> Record | None:
    """The deepest span that failed; a request failed because of it."""
    failed = [each for each in trace.spans if each["error"]]
    if not failed:
        return None
    fields = dict(failed[-1]["logs"][0]["fields"]) if failed[-1]["logs"] else {}
    return {
        "count": 1,
        "kind": fields.get("error.kind", ""),
        "status": "",
        "service": failed[-1]["service"],
        "is_handled": False,
    }


def instance_name(service: str, number: int) -> str:
    return f"{service}-{Random(f'{service}{number}').getrandbits(32):08x}@10.0.0.{number + 11}"


def wave(name: str, minute: float) -> float:
    """A value between 0 and 1 that wanders, the same for the same moment."""
    phase = Random(name).uniform(0, 6.28)
    return (
        0.5 + 0.25 * math.sin(minute / 3 + phase) + 0.15 * math.sin(minute * 1.7 + phase) + 0.1 * math.sin(minute * 5.3)
    )


def ledger_signals(service: str, offered: int) -> Iterator[Record]:
    """The reports of an agent; the mailer has been without its collector for a while, and lost some."""
    lossy = service == "mailer"
    for signal, share in (("segment", 1.0), ("log", 0.2), ("meter", 0.1)):
        number = int(offered * share)
        dropped = {"evicted": number // 60, "ambiguous": number // 300} if lossy and signal == "segment" else {}
        refused = {"full": number // 90} if lossy and signal == "segment" else {}
        queued, in_flight = (3, 20) if signal == "segment" else (0, 0)
        confirmed = number - sum(dropped.values()) - sum(refused.values()) - queued - in_flight
        yield {
            "signal": signal,
            "offered": number,
            "confirmed": max(0, confirmed),
            "refused": refused,
            "dropped": dropped,
            "queued": queued,
            "in_flight": in_flight,
            "spilled": 0,
            "recovered": 0,
        }
