"""The findings of all traces: at most one of a kind and an operation, those first that explain most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from collector.made_traces import Did, Request, call, held, made, raised, store_of
from collector.served import START
from collector.test_findings_of_a_trace import FRAME, listing, payment
from swagent.collector.api.failure_index import FailureIndex
from swagent.collector.findings import roots
from swagent.collector.findings.baselines import Baselines
from swagent.collector.findings.finding import Finding
from swagent.collector.findings.now import Looked, now
from swagent.collector.store.records import Event, Meter
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span


def look(store: Store, bounds: Mapping[str, int] = {}, at: int | None = None) -> Looked:
    return now(store, FailureIndex(store), Baselines(store), bounds, at)


def findings(*traces: list[Segment]) -> list[Finding]:
    return look(store_of(*traces)).findings


def said(found: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [each.subject for each in found]


def payments(count: int, every: int = 10, balance: int = 900) -> list[list[Segment]]:
    return [made(payment(8 if (number + 1) % every else balance), number * 100) for number in range(count)]


def test_nothing_is_amiss_where_nothing_is() -> None:
    assert look(Store()).findings == []
    calm = look(store_of(*payments(50, balance=9)))
    assert (calm.findings, calm.requests, calm.samples) == ([], 50, 3)


def test_one_slow_request_may_be_chance_and_so_may_be_the_first_ones() -> None:
    assert findings(*payments(60, every=50)) == []
    slow_first = [made(payment(900), 0), made(payment(900), 1), *payments(40, every=100)]
    assert findings(*slow_first) == []


def test_a_stall_that_hits_all_that_are_under_way_is_one_time_and_a_long_one_is_none() -> None:
    def payments_of(slow: range) -> list[list[Segment]]:
        return [made(payment(900 if number in slow else 8), number * 300) for number in range(100)]

    assert findings(*payments_of(range(50, 55))) == []  # five requests, for two seconds
    assert said(findings(*payments_of(range(50, 60)))) == [("slow_dependency", "payments", "SELECT balance")]


def test_requests_that_are_slow_while_others_are_quick_are_no_stall() -> None:
    """Two clients: as soon as one has its slow answer, the other one waits for its own."""
    slow = [made(payment(250), number * 200) for number in range(4)]
    quick = [made(payment(8), 3 + number * 20) for number in range(60)]
    assert said(findings(made(payment(8)), made(payment(8)), *quick, *slow[1:])) == [
        ("slow_dependency", "payments", "SELECT balance")
    ]


def test_what_always_takes_long_is_not_amiss() -> None:
    report = Request("shop", "GET:/report", 0, 805, [Did("SELECT sum", 1, 800, "db:5432")])
    assert findings(*(made(report, each * 1000) for each in range(30))) == []


def test_an_n_plus_one_counts_for_all_requests_of_its_kind() -> None:
    [finding] = findings(*(made(listing(19), each * 500) for each in range(30)))
    assert said([finding]) == [("n_plus_one", "shop", "GET:/orders")]
    assert (finding.count, finding.ms) == (30, 30 * 95)


def test_the_code_that_held_the_loop_is_one_row_with_all_that_it_did() -> None:
    traces = []
    for number in range(20):
        at = number * 1000
        report = Request("shop", "GET:/report", 0, 260, tags={"loop.blocked": "240"}, logs=held(FRAME, at + 110))
        waited = Request(
            "shop", "GET:/x", 10, 255, [Did("PING", 12, 252, "redis:6379", "Cache")], tags={"loop.waited": "230"}
        )
        traces += [
            made(report, at),
            made(waited, at),
            *(made(Request("shop", "GET:/x", 0, 5), at + 300 + each) for each in range(3)),
        ]
    found = findings(*traces)
    assert said(found) == [("blocked_loop", "shop", "GET:/report")]
    assert found[0].sentence == (
        "shop · shop/report.py:18 print_report held the event loop in GET:/report: "
        "20 times, 4.80 s in all, 240 ms at the most"
    )


def test_code_outside_of_any_request_that_held_the_loop_is_known_by_events() -> None:
    store = store_of(*payments(30, balance=9))
    for number in range(3):
        times = START + number * 10_000, START + number * 10_000 + 300
        held_by = {"frame": FRAME}
        store.add(Event(f"u{number}", "shop", "shop-1", "", "loop_blocked", "Normal", "", held_by, *times, "GENERAL"))
    [finding] = look(store).findings
    assert (finding.kind, finding.ms, finding.count, finding.link) == ("blocked_loop", 900, 3, "#/runtime")
    assert "outside of any request" in finding.sentence


def test_totals_that_agents_report_count_where_no_time_is_asked_for() -> None:
    store = store_of(*payments(30, balance=9))
    store.add(Meter("shop", "shop-1", "loop_blocked", (("frame", FRAME),), START, 2600.0))
    [finding] = look(store).findings
    assert finding.sentence == (
        "shop · shop/report.py:18 print_report held the event loop, outside of any request: 2.60 s in all"
    )
    assert look(store, {"from": START}).findings == []


def test_one_short_hold_may_be_chance() -> None:
    report = Request("shop", "GET:/report", 0, 130, tags={"loop.blocked": "120"}, logs=held(FRAME, 110))
    assert findings(made(report), *payments(30, balance=9)) == []


def profile(first: int = 60, second: int = 50, method: str = "GET") -> Request:
    tags = {"http.method": method}
    asked = [
        Did("/user", 1, 1 + first, "users:80", "Http", tags=tags),
        Did("/ads", 2 + first, 2 + first + second, "ads:80", "Http", tags=tags),
    ]
    return Request("shop", "GET:/home", 0, first + second + 4, asked)


def test_reads_that_follow_each_other_are_a_hint_of_low_confidence() -> None:
    [finding] = findings(*(made(profile(), each * 200) for each in range(10)))
    assert (finding.kind, finding.confidence, finding.ms) == ("sequential_awaits", "low", 50)
    assert "awaits /user at users:80, then /ads at ads:80; if none of them needs the answer" in finding.sentence
    assert "they take 50 ms less, 44 % of the request" in finding.sentence


def test_writes_and_short_and_changing_calls_are_no_hint() -> None:
    assert findings(*(made(profile(method="POST"), each * 200) for each in range(10))) == []
    assert findings(*(made(profile(60, 4), each * 200) for each in range(10))) == []
    without = Request(
        "shop", "GET:/home", 0, 114, [Did("/user", 1, 110, "users:80", "Http", tags={"http.method": "GET"})]
    )
    mixed = [made(without if each % 2 else profile(), each * 200) for each in range(10)]
    assert findings(*mixed) == []


def failing(number: int, service: str = "stock", line: int = 118) -> list[Segment]:
    at = number * 100
    failed = Request(
        service, "GET:/item", 2, 8, error=True, tags={"http.status_code": "500"},
        logs=raised("stock.OutOfStock", "stock/pool.py", line, at=at),
    )  # fmt: skip
    shop = Request(
        "shop", "GET:/order", 0, 10, [call(failed, error=True)], error=True, tags={"http.status_code": "502"},
        logs=raised("httpx.HTTPStatusError", "shop/app.py", 88, at=at),
    )  # fmt: skip
    return made(shop, at)


def test_a_failure_in_several_services_is_one_row_and_one_count() -> None:
    traces = [failing(number) if number % 4 == 0 else made(payment(), number * 100) for number in range(40)]
    [finding] = findings(*traces)
    assert (finding.kind, finding.service, finding.count, finding.failures) == ("error_chain", "stock", 10, 10)
    assert finding.sentence == (
        "OutOfStock stock/pool.py:118 → HTTPStatusError shop/app.py:88 → 502 · 10 times, the last in shop · GET:/order"
    )


def late(number: int, start: int = 10) -> list[Segment]:
    """A request and a segment below it that failed, which began so many milliseconds after it."""
    shop = Request("shop", "GET:/order", 0, 10, tags={"http.status_code": "200"})
    [segment] = made(shop, number * 100)
    at, logs = START + number * 100 + start, raised("jobs.MailError", "shop/mail.py", 7)
    back = Reference("CrossThread", segment.trace_id, segment.segment_id, 0, "shop", "shop-1", "GET:/order", "")
    span = Span(0, -1, at, at, "after the response", is_error=True, logs=logs, references=(back,))
    return [segment, Segment(segment.trace_id, f"{segment.segment_id}-late", "shop", "shop-1", (span,))]


def test_work_that_failed_after_its_response_is_a_failure_of_its_own() -> None:
    [finding] = findings(*(late(number) for number in range(3)))
    assert (finding.kind, finding.service, finding.operation, finding.count) == (
        "error_chain", "shop", "GET:/order", 3
    )  # fmt: skip
    assert finding.sentence == ("MailError shop/mail.py:7 · 3 times, the last in shop · GET:/order, after the response")


def test_what_fails_beside_a_request_that_succeeds_was_survived() -> None:
    assert findings(*(late(number, start=5) for number in range(3))) == []


@pytest.mark.parametrize("survived", [0, 2, 3])
def test_a_failure_that_some_requests_survive_counts_where_they_did_not(survived: int) -> None:
    """Of each four of them some fail beside the request and not after it; the newest one may be of either kind."""
    [finding] = findings(*(late(number, start=5 if number % 4 >= 4 - survived else 10) for number in range(8)))
    assert (finding.kind, finding.count, finding.failures) == ("error_chain", 8 - 2 * survived, 8 - 2 * survived)


def asked(
    number: int, name: str, kind: str = "shop.NoStock", below: Sequence[Did] = (), at: str = "GraphQL/query/{}"
) -> list[Segment]:
    """A request whose answer has the status 200, and the errors of a GraphQL operation."""
    tags = {"graphql.operation.type": "query", "graphql.operation.name": name}
    logs = raised(kind, "shop/stock.py", 7, at=number * 100)
    local = Did(at.format(name), 1, 9, layer="Unknown", kind="Local", error=True, tags=tags, logs=logs, below=below)
    return made(Request("shop", "POST:/graphql", 0, 10, [local], tags={"http.status_code": "200"}), number * 100)


def test_each_graphql_operation_of_a_request_has_its_own_failures() -> None:
    kinds = {"Orders": "shop.NoStock", "Prices": "shop.NoPrice"}
    traces = [asked(number, name, kinds[name]) for name in ("Orders", "Prices") for number in range(3)]
    both = [
        Did(f"GraphQL/query/{name}", 1, 9, kind="Local", error=True, logs=raised(kind, "shop/stock.py", 7))
        for name, kind in kinds.items()
    ]
    traces.append(made(Request("shop", "POST:/graphql", 0, 10, both), 9000))
    assert {each.operation: each.count for each in findings(*traces)} == {
        "GraphQL/query/Orders": 4, "GraphQL/query/Prices": 4
    }  # fmt: skip


def test_a_call_that_a_graphql_operation_survived_is_none_of_its_failures() -> None:
    tried = Did("EVALSHA", 2, 3, "cache:6379", "Cache", error=True)
    fine = [made(Request("shop", "POST:/graphql", 0, 10, [tried]), number * 100) for number in range(20)]
    last = asked(99, "Orders")
    last[0] = replace(last[0], spans=(*last[0].spans, replace(fine[0][0].spans[1], span_id=2)))
    [finding] = findings(*fine, last)
    assert finding.count == 1


def test_what_failed_below_a_graphql_operation_is_where_it_began_and_a_document_says_its_operation() -> None:
    query = Did("SELECT", 2, 3, "db:5432", error=True)
    [finding] = findings(asked(0, "Orders", "", [query], at="GraphQL/validate"))
    assert finding.sentence == "SELECT at db:5432 · 1 time, in shop · POST:/graphql, GraphQL/validate of Orders"


def worse(store: Store, at: int | None = None) -> list[Finding]:
    return [each for each in look(store, at=at).findings if each.kind == "regression"]


def start(service: str, at: int) -> Event:
    return Event(f"{service}{at}", service, "i", "", "Start", "Normal", "", {}, START + at, START + at, "GENERAL")


def store_with(took: Sequence[int]) -> Store:
    """Requests that took so long."""
    return store_of(*(made(Request("shop", "GET:/items", 0, each), at * 100) for at, each in enumerate(took)))


WORSE = [20] * 60 + [129] * 60


def test_what_got_worse_since_a_start() -> None:
    store = store_with(WORSE)
    assert worse(store) == []
    store.add(start("shop", -1000))
    assert worse(store) == []  # nothing came before the first start
    store.add(start("shop", 5995))
    [finding] = worse(store)
    assert said([finding]) == [("regression", "shop", "GET:/items")]
    assert "p50 20 ms → 129 ms (60 calls before, 55 after)" in finding.sentence
    assert finding.link == f"#/services?at={START + 5995}"
    for number in range(40):  # later ones of many other services
        store.add(start(f"other{number}", 6000 + number))
    assert said(worse(store)) == [("regression", "shop", "GET:/items")]


def test_what_got_worse_since_a_moment_that_was_named() -> None:
    store = store_with(WORSE)
    [finding] = worse(store, START + 5995)
    assert "(60 calls before, 60 after)" in finding.sentence
    assert worse(store, START + 1000) == []


def test_a_start_after_which_nothing_changed_is_no_finding() -> None:
    store = store_with([20, 21, 22, 23, 24] * 24)
    store.add(start("shop", 0))
    store.add(start("shop", 5995))
    assert look(store).findings == []


def test_lost_records_are_a_finding_of_their_service() -> None:
    store = store_of(*payments(30, balance=9))
    labels = (("signal", "segment"), ("reason", "queue full"))
    for time, value in ((START, 0.0), (START + 1000, 120.0)):
        store.add(Meter("shop", "shop-1", "swagent_records_dropped", labels, time, value))
    [finding] = look(store).findings
    assert (finding.kind, finding.count) == ("losses", 120)
    assert finding.sentence == "shop lost 120 records: 120 of segment (queue full)"


def test_only_a_time_that_is_asked_for() -> None:
    store = store_of(*payments(100))
    assert look(store, {"from": START + 9950}).findings == []
    looked = look(store, {"from": START + 5000, "to": START + 8000})
    assert (looked.requests, looked.findings[0].count) == (31, 3)


def test_however_many_traces_there_are_few_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [Did("SELECT", 1, 15, "db")]
    store = store_of(*(
        made(Request("shop", f"GET:/op{operation}", 0, 900 if number > 15 else 20, asked), number * 1000)
        for operation in range(30) for number in range(20)
    ))  # fmt: skip
    read: list[str] = []

    def trace(trace_id: str) -> list[Segment]:
        read.append(trace_id)
        return Store.trace(store, trace_id)

    monkeypatch.setattr(store, "trace", trace)
    looked = look(store)
    assert looked.samples == len(read) == roots.MOST_TRACES
    assert {each.kind for each in looked.findings} == {"time_without_span"}
