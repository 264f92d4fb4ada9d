"""Made-up records that look real: a shop of five services, its traces and their logs.

Deterministic for a seed, whatever was asked for before.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from swagent.collector.store.records import LogLine, Meter
from swagent.collector.store.trace_records import Pairs, Reference, Segment, Span, SpanLog

Record = dict[str, Any]

SERVICES = ("gateway", "mailer", "payments", "shop", "stock")
# meters that rise and fall, and how far
LEVELS = {
    "instance_pvm_process_cpu_utilization": 60, "instance_pvm_total_cpu_utilization": 90, "swagent_loop_lag": 12,
    "instance_pvm_thread_active_count": 24, "swagent_tasks": 40, "shop_basket_size": 9,
}  # fmt: skip
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
    kind: str = "Local"
    layer: str = "Unknown"
    component: int = 0
    peer: str = ""
    tags: Pairs = ()
    below: tuple[Call, ...] = ()
    share: float = 0.5
    may_fail: float = 0.0


def _http(service: str, path: str, *below: Call, share: float = 0.6) -> Call:
    """A call over HTTP: the caller's exit span is made by `_remote`, this is the entry span."""
    method, _, rest = path.partition(":")
    tags = (("http.method", method), ("url", f"http://{service}{rest}"))
    return Call(service, path, "Entry", "Http", 7014, "", tags, below, share)


def _remote(caller: str, entry: Call) -> Call:
    peer = f"{entry.service}:8000"
    return Call(caller, entry.operation, "Exit", "Http", 7019, peer, entry.tags[:1], (entry,), entry.share)


def _sql(service: str, statement: str, share: float = 0.3, may_fail: float = 0.0) -> Call:
    tags = (("db.type", "postgresql"), ("db.statement", statement))
    name = f"PostgreSQL/{statement.split()[0]}"
    return Call(service, name, "Exit", "Database", 7016, "postgres:5432", tags, (), share, may_fail)


def _cache(service: str, command: str) -> Call:
    tags = (("cache.cmd", command),)
    return Call(service, f"Redis/{command}", "Exit", "Cache", 7, "redis:6379", tags, share=0.05)


def _work(service: str, name: str, *below: Call, share: float = 0.4) -> Call:
    return Call(service, name, below=below, share=share)


TOPIC = (("mq.topic", "orders"),)
CARDS = (("http.method", "POST"),)
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
    Call("payments", "POST:/v1/charges", "Exit", "Http", 7019, "api.cards.example:443", CARDS, (), 0.6, 0.02),
    share=0.4,
)
MAILED = (_work("mailer", "render mail"), Call("mailer", "SMTP/send", "Exit", peer="smtp:25"))
CONSUMED = Call("mailer", "Kafka/orders/Consumer", "Entry", "MQ", 41, "kafka:9092", TOPIC, MAILED, 0.9)
QUEUED = Call("shop", "Kafka/orders/Producer", "Exit", "MQ", 40, "kafka:9092", TOPIC, (CONSUMED,), 0.2)
PRICE = _work("shop", "price", _cache("shop", "MGET"), share=0.15)
ORDERED = _http(
    "shop", "POST:/orders/{item}", PRICE, _remote("shop", RESERVE), _remote("shop", CHARGE), QUEUED, share=0.92
)
ORDER = _http("gateway", "POST:/orders", _remote("gateway", ORDERED))
LISTED = (_cache("shop", "GET"), _sql("shop", "SELECT * FROM items LIMIT 50"))
BROWSE = _http("gateway", "GET:/items", _remote("gateway", _http("shop", "GET:/items", *LISTED, share=0.9)))
LOOK = _http("stock", "GET:/stock/{item}", _cache("stock", "GET"), share=0.8)
STOCK = _http("gateway", "GET:/stock/{item}", _remote("gateway", LOOK))
HEALTH = _http("stock", "GET:/health")
ODD = _http("shop", "GET:/search", _work("shop", HOSTILE, _sql("shop", "SELECT * FROM items WHERE name = '<b>&amp;'")))
TEMPLATES = ((ORDER, 30, 240.0), (BROWSE, 45, 38.0), (STOCK, 15, 17.0), (HEALTH, 9, 3.0), (ODD, 1, 30.0))


@dataclass
class Trace:
    """One trace while it is being made."""

    id: str
    random: Random
    spans: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    logs: list[LogLine] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)

    @property
    def segments(self) -> list[Segment]:
        return [Segment(self.id, name, *self.sources[name], tuple(spans)) for name, spans in self.spans.items()]


def make_trace(number: int, start: int) -> Trace:
    """The trace of that number."""
    random = Random(f"trace {number}")
    trace = Trace(f"{Random(number).getrandbits(96):024x}.{number}", random)
    ((template, typical),) = random.choices(
        [(each, ms) for each, _, ms in TEMPLATES], [each for _, each, _ in TEMPLATES]
    )
    # a few are very slow, most are near the typical time
    took = max(1.0, typical * random.lognormvariate(0, 0.45) * (random.uniform(4, 14) if random.random() < 0.02 else 1))
    _add(trace, template, f"seg{number}.0", -1, float(start), took)
    return trace


def make_deep_trace(name: str, start: int, spans: int) -> Trace:
    """One trace with very many spans: a batch job."""
    trace = Trace(name, Random("deep"))
    below = tuple(Call("mailer", f"mail {index}") for index in range(spans - 1))
    _add(trace, Call("mailer", "nightly batch", "Entry"), "segdeep.0", -1, float(start), spans * 4.0)
    for index, call in enumerate(below):
        _add(trace, call, "segdeep.0", 0, start + index * 4.0, 3.0)
    return trace


def _add(
    trace: Trace, call: Call, segment: str, parent: int, start: float, took: float, cause: Reference | None = None
) -> bool:
    """Returns whether it failed."""
    random = trace.random
    source = trace.sources.setdefault(segment, (call.service, instance_name(call.service, random.randrange(2))))
    number = trace.numbers[segment]
    trace.numbers[segment] += 1
    at, is_failed = start + took * 0.04, False
    for below in call.below:
        spent = took * 0.92 * min(below.share, 0.95) * random.uniform(0.75, 1.0)
        if below.kind == "Entry":
            inner = f"{segment}.{number}"
            reference = Reference("CrossProcess", trace.id, segment, number, *source, call.operation, call.peer)
            is_failed |= _add(trace, below, inner, -1, at, spent, reference)
        else:
            is_failed |= _add(trace, below, segment, number, at, spent)
        at = min(at + spent * (1.0 if below.layer == "Cache" else 1.03), start + took * 0.97)
    times, tags = (round(start), round(start + took)), call.tags
    logs: tuple[SpanLog, ...] = ()
    place = (sum(times) // 2, *source, call.operation)
    ids = (trace.id, segment, number)
    if random.random() < call.may_fail:
        message = "umbrella is sold out"
        stack = STACK.replace("stock.", f"{call.service}.").replace("/stock/", f"/{call.service}/")
        kind = ("error.kind", f"{call.service}.errors.OutOfStock")
        is_failed, logs = True, (SpanLog(times[1], (("event", "error"), kind, ("message", message), ("stack", stack))),)
        trace.logs.append(_log(place, ids, "ERROR", f"{message}\n{stack}"))
    if call.kind == "Entry" and call.layer == "Http":
        tags = (*tags, ("status_code", "500" if is_failed else "200"))
        if random.random() < 0.06:
            text = random.choice(("few left: {}", "slow answer for {}", "retrying {}")).format(random.choice(ITEMS))
            trace.logs.append(_log(place, ids, random.choice(("WARNING", "WARNING", "INFO")), text))
    made = Span(number, parent, *times, call.operation, call.peer, call.kind, call.layer, call.component, is_failed)
    references = () if cause is None else (cause,)
    trace.spans[segment].append(replace(made, tags=tags, logs=logs, references=references))
    return is_failed


def _log(place: tuple[int, str, str, str], ids: tuple[str, str, int], level: str, text: str) -> LogLine:
    tags = (("level", level), ("logger", f"{place[1]}.app"), ("thread", "MainThread"))
    return LogLine(*place, "text", text, tags, "", *ids)


def instance_name(service: str, number: int) -> str:
    return f"{service}-{Random(f'{service}{number}').getrandbits(32):08x}@10.0.0.{number + 11}"


def properties_of(service: str, number: int) -> Pairs:
    """The words of a process about itself."""
    return (
        ("OS Name", "Linux"), ("Process No.", str(4100 + number)), ("hostname", f"{service}-{number}"),
        ("language", "python"), ("python_implementation", "CPython"), ("python_version", "3.12.4"), ("loop", "uvloop"),
    )  # fmt: skip


def meters_of(service: str, number: int, times: Sequence[int]) -> Iterator[Meter]:
    """The reports of a process. The mailer has been without its collector for a while, and lost some records."""
    who = service, instance_name(service, number)
    is_lossy = service == "mailer" and not number
    for count, at in enumerate(times):
        for name, top in LEVELS.items():
            value = top * (0.5 + 0.4 * math.sin(at / 180_000 + len(name)))
            yield Meter(*who, name, (), at, round(value, 2))
        yield Meter(*who, "swagent_memory", (), at, 84e6)
        yield Meter(*who, "instance_pvm_gc_time", (), at, 30.0 * count)
        for payment in ("card", "invoice"):
            yield Meter(*who, "shop_orders", (("payment", payment),), at, float(22 * count))
        buckets = tuple((bound, count * share) for bound, share in ((0.0, 9), (100.0, 40), (400.0, 1)))
        yield Meter(*who, "shop_checkout_duration", (), at, None, buckets)
        lost = {"dropped evicted": 12 * count, "dropped ambiguous": 7, "refused full": 15} if is_lossy else {}
        ledger = {"offered": 25 + 50 * count, "confirmed": 22 + 50 * count - sum(lost.values()), "queued": 3, **lost}
        for what, records in ledger.items():
            kind, _, reason = what.partition(" ")
            labels = (*((("reason", reason),) if reason else ()), ("signal", "segment"))
            yield Meter(*who, f"swagent_records_{kind}", labels, at, float(records))
