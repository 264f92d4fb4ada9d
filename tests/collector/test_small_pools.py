"""Pools that are always too small: a finding, although each wait is as long as usual."""

from __future__ import annotations

import pytest

from collector.made_traces import Did, Request, call, made
from collector.test_findings_now import findings
from swagent.collector.store.trace_records import Segment

POOL = "orders-db:5432/orders"
NUMBERS = {"pool": POOL, "pool.in_use": "5", "pool.limit": "5", "pool.waiting": "23"}


def asked(waited: int, worked: int = 20, pool: str = POOL) -> Request:
    """A request that waits so many milliseconds for a connection, and then uses it."""
    tags = {**NUMBERS, "pool": pool}
    wait = [Did(f"pool {pool}", 1, 1 + waited, kind="Local", layer="Unknown", tags=tags)] if waited else []
    query = Did("SELECT orders", 1 + waited, 1 + waited + worked, "orders-db:5432")
    return Request("shop", "GET:/orders", 0, 2 + waited + worked, [*wait, query])


def after_each_other(*requests: Request) -> list[list[Segment]]:
    return [made(each, number * 100) for number, each in enumerate(requests)]


def test_an_operation_that_always_waits_for_a_pool_is_named_with_its_numbers() -> None:
    [finding] = findings(*after_each_other(*(asked(80) for _ in range(39)), asked(0)))
    assert finding.sentence == (
        "shop · GET:/orders: 98 % of 40 requests wait for a connection of orders-db:5432/orders, 5 of 5 in use and 23 "
        "others in front · 80 ms of 102 ms (p50): the pool is too small for this load, or its connections are kept for "
        "too long"
    )
    assert (finding.kind, finding.count, finding.ms, finding.confidence) == ("pool", 39, 39 * 80, "high")
    assert len(finding.places) == 3
    assert finding.link.startswith(f"#/traces/{finding.places[0].trace_id}?span=")


def test_less_than_half_of_the_time_is_less_sure() -> None:
    [finding] = findings(*after_each_other(*(asked(40, 60) for _ in range(30))))
    assert finding.confidence == "medium"


def test_a_service_that_others_ask_is_named_as_well() -> None:
    shop = Request("front", "GET:/", 0, 110, [call(Request("shop", "GET:/orders", 2, 104, asked(80).did))])
    [finding] = findings(*after_each_other(*(shop for _ in range(30))))
    assert (finding.service, finding.operation, finding.count) == ("shop", "GET:/orders", 30)


def test_the_pool_of_another_operation_is_not_counted() -> None:
    other = Request("shop", "GET:/other", 0, 40, asked(0).did)
    found = findings(*after_each_other(*(asked(80) for _ in range(30)), *(other for _ in range(30))))
    assert [(each.operation, each.count) for each in found] == [("GET:/orders", 30)]


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([asked(20, 5)] * 40, id="short waits"),
        pytest.param([asked(60, 400)] * 40, id="a small part of the time"),
        pytest.param([asked(80)] * 12, id="few requests"),
        pytest.param([asked(80, 20)] * 20 + [asked(0, 100)] * 20, id="a half does not wait"),
        pytest.param([asked(0, 100)] * 40, id="no wait"),
    ],
)
def test_short_or_rare_waits_are_no_finding(requests: list[Request]) -> None:
    assert findings(*after_each_other(*requests)) == []


def test_waits_for_different_pools_are_not_added() -> None:
    requests = [asked(80, pool=POOL if number % 2 else "stock-db:5432/stock") for number in range(40)]
    assert findings(*after_each_other(*requests)) == []
