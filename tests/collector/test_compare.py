"""Before and after: worse numbers, and differences that may be chance."""

from __future__ import annotations

from typing import Any

import pytest

from collector.made_traces import store_of
from collector.served import START
from swagent.collector.api.calls import endpoints, services
from swagent.collector.api.compare import compare, median
from swagent.collector.api.sides import LEAST, Side, differences, worse
from swagent.collector.api.sums import PARTS, trend
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment, Span

AT = START + 1_000_000


def request(
    number: int, start: int, took: int, queries: int = 0, error: bool = False, path: str = "/orders"
) -> Segment:
    """A request of `shop` that asks a database so often, and calls another service."""
    spans = [Span(0, -1, start, start + took, path, kind="Entry", layer="Http", is_error=error)]
    spans += [Span(1 + each, 0, start + 1, start + 2, "SELECT", "db", "Exit", "Database") for each in range(queries)]
    spans.append(Span(90, 0, start + 1, start + 2, "/next", "next:80", "Exit", "Http"))
    spans.append(Span(91, 0, start + took + 50, start + took + 60, "SELECT", "db", "Exit", "Database"))
    return Segment(f"trace-{number}", f"s-{number}", "shop", "i", tuple(spans))


def side(durations: list[int], errors: int = 0, queries: int = 1) -> Side:
    made = Side()
    for number, each in enumerate(sorted(durations)):
        made.add(each, number < errors, queries)
    return made


def test_few_calls_say_nothing() -> None:
    before, after = side([10] * (LEAST - 1)), side([1000] * (LEAST - 1), errors=LEAST - 1, queries=50)
    assert set(differences(before, after).values()) == {0}
    assert worse(before, after) == 0
    assert differences(side([10] * LEAST), side([1000] * LEAST, queries=50)) == {
        "p50": 1,
        "p95": 0,  # the slowest of twenty is no p95
        "error_rate": 0,
        "queries": 1,
    }


def test_chance_is_no_difference() -> None:
    """The median of a hundred calls of 1 to 100 ms lies between 40 and 61 ms, nearly always."""
    calm = side(list(range(1, 101)))
    assert differences(calm, side(list(range(9, 109))))["p50"] == 0
    assert differences(calm, side(list(range(41, 141))))["p50"] == 1
    assert differences(side(list(range(41, 141))), calm)["p50"] == -1
    assert differences(side([5] * 100, errors=1), side([5] * 100, errors=4))["error_rate"] == 0
    assert differences(side([5] * 100, errors=1), side([5] * 100, errors=20))["error_rate"] == 1


def test_the_order_goes_by_how_much_it_got_worse() -> None:
    calm = side([10] * 100)
    sides = [side([11] * 100), side([40] * 100), side([10] * 100, errors=50), side([4] * 100), side([10] * 100)]
    found = [worse(calm, each) for each in sides]
    assert sorted(found, reverse=True) == [found[2], found[1], found[0], found[4], found[3]]
    assert found[4] == 0 > found[3]


def test_endpoints_before_and_after() -> None:
    store = Store()
    for number in range(60):
        is_after = number >= 30
        start = AT + (number - 30) * 1000
        store.add(request(number, start, 80 if is_after else 20, 4 if is_after else 1, is_after and number % 2 == 0))
        store.add(request(100 + number, start, 30, path="/calm"))
    store.add(request(300, AT - 1, 10, path="/gone"))
    found = compare(store, AT, {})
    assert [each["endpoint"] for each in found["endpoints"]] == ["/orders", "/calm", "/gone"]
    first = found["endpoints"][0]
    assert first["before"] == {"calls": 30, "errors": 0, "error_rate": 0.0, "p50": 20, "p95": 20, "queries": 1.0}
    assert first["after"] == {"calls": 30, "errors": 15, "error_rate": 0.5, "p50": 80, "p95": 80, "queries": 4.0}
    assert first["differs"] == {"p50": 1, "p95": 0, "error_rate": 1, "queries": 1}
    assert first["worse"] > 0
    calm, gone = found["endpoints"][1:]
    assert (calm["worse"], set(calm["differs"].values())) == (0, {0})
    assert gone["after"] == {"calls": 0, "errors": 0, "error_rate": None, "p50": None, "p95": None, "queries": None}
    narrow = compare(store, AT, {"from": AT - 5000, "to": AT + 4999})
    assert [narrow["endpoints"][0][each]["calls"] for each in ("before", "after")] == [5, 5]
    assert compare(store, AT, {"service": "stock"})["endpoints"] == []


def test_the_median_trace_of_an_endpoint_is_another_one_that_did_not_fail() -> None:
    times = enumerate((10, 50, 20, 30, 40, 900))
    store = store_of([request(number, START, took, error=took == 900) for number, took in times])
    found = median(store, "shop", "/orders", "trace-0")
    assert (found["trace_id"], found["duration"], found["calls"]) == ("trace-3", 30, 4)
    assert median(store, "shop", "/nothing", "trace-0")["trace_id"] is None
    alone = store_of([request(1, START, 10)])
    assert median(alone, "shop", "/orders", "trace-1")["calls"] == 0


def test_a_service_that_is_silent_has_no_rate() -> None:
    store = store_of([request(number, START + number * 1000, 10) for number in range(300)])
    last = START + 299_000
    for silence, rate in ((0, 60.0), (150, 30.0), (480, 0.0)):
        (shop,) = services(store, now=last / 1000 + silence)["services"]
        assert shop["calls_per_minute"] == pytest.approx(rate, rel=0.05)
        assert (shop["calls"], shop["last_call"]) == (300, last)
    young = store_of([request(number, START + number * 100, 10) for number in range(20)])
    (shop,) = services(young, now=START / 1000 + 2)["services"]
    assert shop["calls_per_minute"] == 20, "of a minute at least"


def test_a_window_of_time() -> None:
    store = store_of([request(each, START + each * 6000, 10 if each < 50 else 100) for each in range(100)])
    now = START / 1000 + 600
    whole = services(store, now=now)
    assert (whole["services"][0]["calls"], whole["services"][0]["p95"]) == (100, 100)
    assert sum(whole["services"][0]["trend"]["calls"]) == 100
    bounds = {"from": START, "to": START + 299_999}
    early = services(store, bounds, now)
    (shop,) = early["services"]
    assert (shop["calls"], shop["p95"], shop["p99"], sum(shop["trend"]["calls"])) == (50, 10, 10, 50)
    assert early["trend"] == {"start": START, "width": 10_000}
    assert {each for each in shop["trend"]["p95"] if each is not None} == {10}
    (endpoint,) = endpoints(store, "shop", {"from": START + 300_000}, now)["endpoints"]
    assert (endpoint["calls"], endpoint["p50"], endpoint["p95"], len(endpoint["trend"]["p95"])) == (50, 100, 100, PARTS)
    idle: Any = services(store, {"to": START - 1}, now)["services"]
    assert [(each["name"], each["calls"], each["p95"], each["last_call"]) for each in idle] == [("shop", 0, None, None)]


def test_a_trend_is_not_squeezed_by_one_call_of_yesterday() -> None:
    now = START + 86_400_000
    found = trend(START, now, is_bounded=False)
    assert found.width * PARTS == 3_600_000
    assert found.start + found.width * PARTS > now
    assert trend(now, now, is_bounded=False).width == 10_000
