"""The findings of one trace: the culprit, and all else that is amiss."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from collector.made_traces import Did, Request, call, held, made, raised, ran_long, store_of
from collector.served import START, shop_and_stock
from swagent.collector.findings import similar
from swagent.collector.findings.baselines import Baselines
from swagent.collector.findings.finding import Finding, Place
from swagent.collector.findings.traces import Found, of_trace
from swagent.collector.store.records import Event
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment, SpanLog


def ask(store: Store, trace_id: str) -> Found | None:
    return of_trace(store, Baselines(store), trace_id)


def found(*others: list[Segment], of: list[Segment]) -> Found:
    answer = ask(store_of(*others, of), of[0].trace_id)
    assert answer is not None
    return answer


def culprit(*others: list[Segment], of: list[Segment]) -> Finding:
    finding = found(*others, of=of).culprit
    assert finding is not None
    return finding


def split(running: int, ready: int, awaiting: int, *awaited: tuple[str, int]) -> dict[str, str]:
    """The tags of a request whose time was split."""
    tags = {"time.running": f"{running}", "time.ready": f"{ready}", "time.awaiting": f"{awaiting}"}
    return tags | ({"time.awaited": json.dumps(awaited)} if awaited else {})


def payment(balance: int = 8, own: int = 4) -> Request:
    """An order that asks payments, which asks its database."""
    asked = Did("SELECT balance", 3, 3 + balance, "ledger-db:5432")
    return Request(
        "shop", "GET:/order", 0, 5 + balance + own, [call(Request("payments", "POST:/pay", 2, 4 + balance, [asked]))]
    )


def test_the_culprit_is_named_across_services_against_its_baseline() -> None:
    usual = [made(payment(), number * 100) for number in range(30)]
    answer = found(*usual, of=made(payment(3170, 160), 5000))
    assert answer.culprit is not None
    assert answer.culprit.sentence == (
        "95 % · payments → ledger-db:5432 · SELECT balance · 3.17 s, usually 8 ms (p50 of 30)"
    )
    assert answer.culprit.kind == "slow_dependency"
    assert answer.culprit.confidence == "high"
    assert answer.findings == [answer.culprit]
    [place] = answer.culprit.places
    assert answer.culprit.link == f"#/traces/{place.trace_id}?span={place.span.replace(':', '%3A')}"


def test_a_usual_trace_has_its_largest_part_and_nothing_is_amiss() -> None:
    answer = found(*(made(payment()) for _ in range(30)), of=made(payment(9)))
    assert answer.culprit is not None
    assert answer.culprit.operation == "SELECT balance"
    assert answer.findings == []


def test_what_is_always_long_is_not_what_made_it_slow() -> None:
    """A report takes 500 ms in its database each time; now its own code took 300 ms more."""

    def report(own: int) -> Request:
        asked = [Did("SELECT sum", 1, 500, "db:5432")]
        return Request("shop", "GET:/report", 0, 500 + own, asked, tags=split(own + 1, 0, 499))

    finding = culprit(*(made(report(5)) for _ in range(20)), of=made(report(400)))
    assert (finding.kind, finding.service, finding.operation) == ("slow_own_code", "shop", "GET:/report")
    assert "its own code · 401 ms; the request usually takes 505 ms (p50 of 20)" in finding.sentence


WEIGH = "/app/shop/prices.py:18 weigh"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request("shop", "GET:/x", 0, 60, [Did("SELECT prices", 50, 59, "db:5432")], logs=ran_long(WEIGH, 30)),
         "shop · GET:/x · its own code, seen in shop/prices.py:18 weigh · 51 ms"),
        (Request("shop", "GET:/x", 0, 60, [Did("weigh all", 1, 59, kind="Local", logs=ran_long(WEIGH, 30))]),
         "its own code in weigh all, seen in shop/prices.py:18 weigh · 58 ms"),
    ],
    ids=["of the request", "of a local span"],
)  # fmt: skip
def test_own_code_that_ran_for_long_has_its_place(request_: Request, words: str) -> None:
    finding = culprit(of=made(request_))
    assert (finding.kind, finding.frame) == ("slow_own_code", WEIGH)
    assert words in finding.sentence


def test_code_that_was_seen_may_have_run_for_a_part_of_a_time_that_was_not_split() -> None:
    usual = [made(Request("shop", "GET:/x", 0, 5)) for _ in range(30)]
    for tags, expected in (({}, "medium"), (split(500, 0, 0), "high")):
        slow = Request("shop", "GET:/x", 0, 500, tags=tags, logs=ran_long(WEIGH, 30))
        assert culprit(*usual, of=made(slow)).confidence == expected


def test_time_without_a_span_that_was_not_split_is_own_code_or_a_wait() -> None:
    usual = [made(Request("shop", "GET:/locked", 0, 8)) for _ in range(30)]
    finding = culprit(*usual, of=made(Request("shop", "GET:/locked", 0, 510)))
    assert (finding.kind, finding.operation, finding.confidence) == ("time_without_span", "GET:/locked", "low")
    assert finding.sentence == (
        "100 % · shop · GET:/locked · 510 ms without a span: own code or a wait, which was not measured "
        "(in ASGI applications SW_AGENT_TIME_SPLIT_EVERY=1 or the accelerator measures it); "
        "the request usually takes 8 ms (p50 of 30)"
    )
    [segment] = made(Request("shop", "orders/Consumer", 0, 510))
    consumer = replace(segment, spans=(replace(segment.spans[0], layer="MQ"),))
    assert culprit(of=[consumer]).sentence.endswith("510 ms without a span: own code or a wait, which was not measured")


LOCK = "asyncio.Lock at shop/app.py:88, held at shop/app.py:82"


def locked(took: int) -> Request:
    """A request that waited for a lock, and whose time was split."""
    return Request("shop", "GET:/locked", 0, took, tags=split(2, 0, took - 2, (LOCK, took - 2)))


def test_a_similar_request_says_what_one_did_whose_time_was_not_split() -> None:
    usual = [made(Request("shop", "GET:/locked", 0, 8)) for _ in range(30)]
    near, longer = made(locked(400)), made(locked(900))
    finding = culprit(*usual, longer, near, of=made(Request("shop", "GET:/locked", 0, 500)))
    assert (finding.kind, finding.ms, finding.confidence) == ("lock", 498, "medium")
    assert finding.sentence == (
        f"100 % · shop · GET:/locked waited for {LOCK} · 498 ms, by the split of a similar request; "
        "the request usually takes 8 ms (p50 of 32)"
    )
    assert finding.places[-1].trace_id == near[0].trace_id


@pytest.mark.parametrize("other", [locked(8), locked(1100), replace(locked(500), operation="GET:/x")])
def test_a_request_of_another_length_or_operation_is_not_similar(other: Request) -> None:
    assert culprit(made(other), of=made(Request("shop", "GET:/locked", 0, 500))).kind == "time_without_span"


def test_similar_requests_are_looked_for_among_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar, "MOST_SEGMENTS", 5)
    later = [made(Request("shop", "GET:/y", 0, 1)) for _ in range(4)]
    asked = made(Request("shop", "GET:/locked", 0, 500))
    assert culprit(made(locked(500)), *later[:3], of=asked).kind == "lock"
    assert culprit(made(locked(500)), *later, of=asked).kind == "time_without_span"


def test_a_wait_for_a_connection_is_the_pools() -> None:
    """Its query was as quick as ever."""
    numbers = {"pool": "orders-db:5432/orders", "pool.in_use": "3", "pool.limit": "3"}

    def asked(waited: int) -> Request:
        name = "pool orders-db:5432/orders"
        tags = split(2, 0, waited + 8, (name, waited), ("SELECT orders orders-db:5432", 8))
        wait = [Did(name, 1, 1 + waited, "", "Unknown", "Local", tags=numbers)] if waited else []
        query = Did("SELECT orders", 1 + waited, 9 + waited, "orders-db:5432")
        return Request("shop", "GET:/x", 0, 10 + waited, [*wait, query], tags=tags)

    finding = culprit(*(made(asked(0)) for _ in range(20)), of=made(asked(738)))
    assert (finding.kind, finding.operation, finding.ms, finding.confidence) == ("pool", "GET:/x", 738, "high")
    assert finding.sentence == (
        "99 % · shop · GET:/x waited for a connection of orders-db:5432/orders, 3 of 3 in use · 738 ms; "
        "the request usually takes 10 ms (p50 of 20)"
    )


def test_a_wait_for_a_connection_within_a_call_is_not_the_calls() -> None:
    tags = {"pool": "stock:80", "pool.in_use": "100"}
    wait = Did("pool stock:80", 2, 202, "", "Unknown", "Local", tags=tags)
    asked = made(Request("shop", "GET:/x", 0, 215, [Did("/part", 1, 211, "stock:80", "Http", below=[wait])]))
    finding = culprit(of=asked)
    assert (finding.kind, finding.ms) == ("pool", 200)
    assert "waited for a connection of stock:80, 100 in use · 200 ms" in finding.sentence


FRAME = "/app/shop/report.py:18 print_report"
HELD_LOCK = "{} at shop/stock.py:41, held at shop/app.py:88"


@pytest.mark.parametrize(
    ("tags", "logs", "kind", "ms", "said"),
    [
        (split(4, 0, 296, ("asyncio.sleep", 296)), (), "slow_wait", 296, " awaited asyncio.sleep · 296 ms"),
        *(
            (split(4, 0, 296, (what, 296)), (), "lock", 296, f" waited for {what} · 296 ms")
            for what in map(HELD_LOCK.format, ("asyncio.Lock", "anyio.CapacityLimiter", "trio.Semaphore"))
        ),
        (split(4, 0, 296, ("anyio.run_sync", 296)), (), "slow_own_code", 296, " · its own code in a thread · 296 ms"),
        (split(20, 280, 0), (), "busy_loop", 280, ""),
        ({"loop.blocked": "290"}, held(FRAME, 110), "blocked_loop", 290,
         " held its event loop for 290 ms in shop/report.py:18 print_report"),
    ],
)  # fmt: skip
def test_what_a_request_did_with_its_time(
    tags: dict[str, str], logs: tuple[SpanLog, ...], kind: str, ms: int, said: str
) -> None:
    finding = culprit(of=made(Request("shop", "GET:/x", 0, 300, tags=tags, logs=logs)))
    assert (finding.kind, finding.operation, finding.ms) == (kind, "GET:/x", ms)
    assert finding.sentence.removeprefix(f"{ms / 3:.0f} % · shop · GET:/x").startswith(said)


def ping(end: int, took: int, loop_waited: int) -> list[Segment]:
    """A request that pings until an end, and whose loop was held meanwhile."""
    asked = Did("PING", 10, end, "redis:6379", "Cache")
    return made(Request("shop", "GET:/x", 0, took, [asked], tags={"loop.waited": f"{loop_waited}"}), 100)


def holder(ms: int, log: int, at: int, service: str = "shop") -> list[Segment]:
    tags = {"loop.blocked": f"{ms}"}
    return made(Request(service, "GET:/report", 0, ms + 15, tags=tags, logs=held(FRAME, log)), at)


def test_a_wait_for_a_held_loop_that_hid_in_a_call_is_not_the_calls() -> None:
    """The answer had come long before the loop turned again."""
    other = holder(745, 230, 130)
    finding = culprit(other, of=ping(821, 842, 740))
    assert (finding.kind, finding.confidence, finding.frame) == ("blocked_loop", "high", FRAME)
    assert finding.ms == pytest.approx(740, abs=5)
    assert "which shop/report.py:18 print_report held" in finding.sentence
    assert "while it waited for PING redis:6379" in finding.sentence
    assert finding.places[0].trace_id == other[0].trace_id


def test_a_held_loop_is_blamed_also_where_no_holder_is_known() -> None:
    finding = culprit(of=ping(821, 842, 740))
    assert (finding.kind, finding.confidence, finding.ms) == ("blocked_loop", "medium", 740)
    assert "awaited PING" not in finding.sentence


def test_a_call_that_took_long_beside_a_held_loop_keeps_what_the_loop_had_not() -> None:
    finding = culprit(holder(120, 300, 200), of=ping(1000, 1005, 120))
    assert (finding.kind, finding.ms) == ("slow_dependency", 870)


def test_the_loop_of_the_called_service_was_held_before_it_saw_the_request() -> None:
    answered = Request("stock", "GET:/item", 240, 245, tags={"loop.waited": "237"})
    trace = made(Request("shop", "GET:/x", 0, 250, [call(answered, start=1, end=247)]), 100)
    finding = culprit(holder(240, 200, 90, "stock"), of=trace)
    assert (finding.kind, finding.service, finding.operation) == ("blocked_loop", "stock", "GET:/item")
    assert finding.sentence.endswith("237 ms, before the application saw the request")


def test_a_request_that_waited_before_its_span_says_so_beside_its_own_time() -> None:
    event = Event(
        "u", "shop", "shop-1", "", "loop_blocked", "Normal", "", {"frame": FRAME, "duration": "240"}, START + 10,
        START + 250, "GENERAL",
    )  # fmt: skip
    store = store_of(made(Request("shop", "GET:/x", 0, 12, tags={"loop.waited": "237"}), 252, "late"))
    store.add(event)
    answer = ask(store, "late")
    assert answer is not None
    assert answer.culprit is not None
    assert answer.culprit.kind == "time_without_span"
    [finding] = answer.findings
    assert (finding.kind, finding.ms) == ("blocked_loop", 237)
    assert "report.py:18 print_report held · 237 ms before the application saw the request" in finding.sentence


def listing(count: int) -> Request:
    asked = [Did("SQLite/execute", 1, 6, "db:5432", tags={"db.statement": "SELECT id FROM orders"})]
    for number in range(count):
        tags = {"db.statement": f"SELECT * FROM lines WHERE order_id = {number}"}
        asked.append(Did("SQLite/execute", 7 + number * 5, 12 + number * 5, "db:5432", tags=tags))
    return Request("shop", "GET:/orders", 0, 10 + count * 5, asked)


def test_an_n_plus_one_is_found_by_its_statement() -> None:
    answer = found(of=made(listing(19)))
    [finding] = answer.findings
    assert finding.sentence == (
        "90 % · shop → db:5432 · 19 \u00d7 SELECT * FROM lines WHERE order_id = ?, one after the other · 95 ms, "
        "95 % of its 20 calls"
    )
    assert (finding.kind, finding.count, finding.ms, finding.operation) == ("n_plus_one", 19, 95, "GET:/orders")
    assert answer.culprit == finding


def queries(*statements: str) -> list[Did]:
    return [
        Did("SELECT", 1 + number * 5, 6 + number * 5, "db", tags={"db.statement": each})
        for number, each in enumerate(statements)
    ]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(listing(9), id="few calls"),
        pytest.param(
            Request("shop", "GET:/x", 0, 80, queries(*(f"SELECT a FROM {each}" for each in "abcdefghijkl"))),
            id="different calls",
        ),
        pytest.param(
            Request("shop", "GET:/x", 0, 80, [Did("SELECT", 1, 50 + each, "db") for each in range(12)]),
            id="calls at the same time",
        ),
        pytest.param(
            Request("shop", "GET:/x", 0, 60,
                    [Did("/pay", 1 + 10 * each, 9 + 10 * each, "p:80", "Http", error=each == 1) for each in range(5)]),
            id="a failure here and there is no storm",
        ),
        pytest.param(
            Request("shop", "GET:/x", 0, 10,
                    [Did("GET", 1, 5, "cache:6379", "Cache", error=True, logs=raised("NoScript", "shop/cache.py", 3))]),
            id="a failure that was survived is no chain",
        ),
    ],
)  # fmt: skip
def test_nothing_is_amiss(request_: Request) -> None:
    assert found(of=made(request_)).findings == []


def test_calls_of_a_service_are_one_by_the_endpoint_that_answered() -> None:
    asked = [
        Did(f"/items/{name}", 1 + number * 6, 6 + number * 6, "stock:80", "Http",
            served=Request("stock", "GET:/items/{name}", 2 + number * 6, 5 + number * 6))
        for number, name in enumerate("abcdefghijkl")
    ]  # fmt: skip
    [finding] = found(of=made(Request("shop", "GET:/x", 0, 80, asked))).findings
    assert "12 \u00d7 GET:/items/{name}" in finding.sentence


def in_loops(loops: int, calls: int, took: int = 8) -> Request:
    """A request that begins so many event loops, and in these asks stock."""
    frame = SpanLog(START, (("event", "loop.runs"), ("frame", "/app/shop/app.py:41 prices"), ("stack", "...")))
    asked = [
        Did("/part", 1 + number * took, (number + 1) * took, "stock:8080", "Http", tags={"http.method": "GET"})
        for number in range(calls)
    ]
    work = Did("prices", 0, 1 + took * calls, kind="Local", layer="Unknown", below=asked)
    return Request("shop", "GET:/prices", 0, 20 + took * calls, [work], tags={"loop.runs": f"{loops}"}, logs=(frame,))


def test_a_loop_for_each_call_is_named_with_its_place() -> None:
    [finding, _] = found(of=made(in_loops(12, 12))).findings[::-1]
    assert finding.sentence == (
        "shop · GET:/prices · 12 event loops in one request, one for each call to stock:8080, "
        "begun at shop/app.py:41 prices · 84 ms; no connection outlives its loop"
    )
    assert (finding.kind, finding.count, finding.confidence) == ("loop_runs", 12, "high")
    assert len(finding.places) == 13
    [few] = found(of=made(in_loops(6, 9))).findings
    assert "6 event loops in one request, with 9 calls to stock:8080" in few.sentence


def test_loops_in_which_several_peers_are_asked() -> None:
    request = in_loops(5, 5, 60)
    for number, each in enumerate(request.did[0].below):
        each.peer = f"stock-{number}:8080"
    assert "5 event loops in one request, one for each call to 5 peers" in found(of=made(request)).findings[0].sentence


@pytest.mark.parametrize(("loops", "calls", "took"), [(4, 9, 8), (1, 9, 8), (6, 0, 8), (6, 6, 2)])
def test_few_loops_or_those_that_cost_nothing_are_no_finding(loops: int, calls: int, took: int) -> None:
    assert found(of=made(in_loops(loops, calls, took))).findings == []


def test_many_loops_are_a_finding_where_their_calls_are_not_known() -> None:
    [finding] = found(of=made(in_loops(30, 0))).findings
    assert finding.sentence == "shop · GET:/prices · 30 event loops in one request, begun at shop/app.py:41 prices"
    assert finding.confidence == "medium"


def test_retries_are_a_storm_and_no_n_plus_one() -> None:
    tags = {"http.method": "POST"}
    tried = [
        Did("/pay", 1 + number * 10, 9 + number * 10, "payments:80", "Http", error=number < 11, tags=tags)
        for number in range(12)
    ]
    [finding] = found(of=made(Request("shop", "GET:/x", 0, 125, tried))).findings
    assert finding.sentence == "shop → payments:80 · /pay was tried 12 times, the last one did it · 96 ms"
    assert (finding.kind, finding.failures) == ("retry_storm", 11)


def test_a_failure_is_one_chain_through_all_services() -> None:
    failed = Request(
        "stock", "GET:/item", 2, 8, error=True, logs=raised("stock.OutOfStock", "stock/pool.py", 118),
        tags={"http.status_code": "500"},
    )  # fmt: skip
    shop = Request(
        "shop", "GET:/order", 0, 10, [call(failed, error=True)], error=True,
        logs=raised("httpx.HTTPStatusError", "shop/app.py", 88), tags={"http.status_code": "502"},
    )  # fmt: skip
    [finding] = found(of=made(shop)).findings
    assert finding.sentence == (
        "shop · GET:/order failed: OutOfStock stock/pool.py:118 → HTTPStatusError shop/app.py:88 → 502"
    )
    assert (finding.kind, finding.failures, len(finding.places)) == ("error_chain", 1, 3)


@pytest.mark.parametrize(
    ("tags", "entry", "words"),
    [
        ({"outcome": "timed_out"}, {"error": True, "logs": raised("httpx.ReadTimeout", "shop/app.py", 3)},
         "was cut off after 100 ms by its deadline"),
        ({"outcome": "cancelled"}, {"tags": {"http.status_code": "504"}},
         "was cut off after 100 ms by a deadline around it"),
        ({"outcome": "cancelled", "task": "t"}, {"error": True, "logs": raised("ExceptionGroup", "shop/app.py", 3)},
         "because another task failed: ExceptionGroup"),
        ({"outcome": "cancelled", "task": "t"},
         {"tags": {"tasks": '[{"name":"t","outcome":"cancelled","cause":"task 2 failed: ValueError"}]'}},
         "by task 2 failed: ValueError"),
        ({"outcome": "cancelled"}, {"tags": {"outcome": "cancelled"}}, "because the request was: its caller had gone"),
    ],
)  # fmt: skip
def test_what_cut_a_call_off(tags: dict[str, str], entry: dict[str, object], words: str) -> None:
    slow = Request("stock", "GET:/slow", 2, 302)
    request = Request("shop", "GET:/x", 0, 103, [call(slow, end=101, tags=tags)], **entry)  # type: ignore[arg-type]
    finding = next(each for each in found(of=made(request)).findings if each.kind == "cancelled")
    assert words in finding.sentence
    assert finding.sentence.endswith("the work for it went on for 201 ms")


def test_consumers_of_messages_are_not_waited_for() -> None:
    sent = Did("Kafka/orders/Producer", 5, 8, "kafka:9092", "MQ")
    finding = culprit(of=made(Request("shop", "GET:/x", 0, 40, [sent])))
    assert (finding.kind, finding.ms) == ("time_without_span", 37)


def test_a_trace_that_is_not_kept_has_no_findings_and_an_empty_one_has_no_culprit() -> None:
    assert ask(Store(), "none") is None
    store = store_of([Segment("empty", "e", "shop", "shop-1", ())])
    assert ask(store, "empty") == Found(None, [])


def test_a_trace_of_a_millisecond_has_no_culprit() -> None:
    assert found(of=made(Request("shop", "GET:/x", 0, 0))).culprit is None
    assert culprit(of=shop_and_stock(1)).places == (Place("trace-1", "b-1:0"),)


def test_of_work_that_went_on_for_a_caller_who_had_gone_only_its_share_counts() -> None:
    slow = Request("stock", "GET:/slow", 1, 401, tags=split(0, 100, 300, ("asyncio.sleep", 300)))
    finding = culprit(of=made(Request("shop", "GET:/x", 0, 102, [call(slow, end=101, tags={"outcome": "timed_out"})])))
    assert (finding.kind, finding.operation, finding.ms) == ("slow_wait", "GET:/slow", 75)


def test_many_small_causes_have_no_culprit_that_is_amiss() -> None:
    """Twice as many calls, each as quick as usual."""

    def orders(calls: int) -> Request:
        asked = [Did(f"SELECT t{each}", 1 + each * 12, 11 + each * 12, "db:5432") for each in range(calls)]
        return Request("shop", "GET:/orders", 0, calls * 12, asked)

    answer = found(*(made(orders(3)) for _ in range(30)), *(made(orders(8)) for _ in range(5)), of=made(orders(8)))
    assert answer.findings == []


def test_a_statement_says_more_than_its_summary() -> None:
    tags = {"db.query.summary": "SELECT orders", "db.statement": "SELECT a FROM orders WHERE id = 7"}
    long = Did("query", 1, 99, "db:5432", tags=tags)
    assert culprit(of=made(Request("shop", "GET:/x", 0, 100, [long]))).operation == "SELECT a FROM orders WHERE id = ?"
    long.tags.pop("db.statement")
    assert culprit(of=made(Request("shop", "GET:/x", 0, 100, [long]))).operation == "SELECT orders"
