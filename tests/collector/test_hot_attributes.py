"""Attributes that go with slow or failed requests: an instance, a version, a tenant, or two of them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from collector.made_traces import Did, Request, call, made
from collector.test_findings_now import findings
from swagent.collector.findings.attributes import Attribute, Hot, Seen, attributes_of, hottest
from swagent.collector.findings.finding import Finding
from swagent.collector.store.trace_records import Segment

TENANTS = ("acme", "globex", "initech", "umbrella", "hooli")


def seen(count: int, start: int = 0, /, **tags: Callable[[int], str]) -> list[Seen]:
    """Requests with tags, by their numbers."""
    return [
        Seen(start + number, frozenset(Attribute(name, of(number)) for name, of in tags.items()))
        for number in range(count)
    ]


def named(hot: Hot | None) -> tuple[list[str], list[str]] | None:
    return hot and ([each.text for each in hot.attributes], [each.text for each in hot.alike])


def test_one_value_that_bad_requests_have() -> None:
    bad = seen(20, tenant=lambda _: "globex", zone=lambda n: "ab"[n % 2])
    good = seen(100, tenant=lambda n: TENANTS[n % 5], zone=lambda n: "ab"[n % 2])
    hot = hottest(bad, good)
    assert named(hot) == (["tenant=globex"], [])
    assert hot is not None
    assert (hot.inside, hot.outside) == (20, 20)


def test_two_values_that_it_takes_both() -> None:
    bad = seen(30, tenant=lambda _: "globex", zone=lambda _: "b")
    good = seen(30, tenant=lambda n: "globex" if n % 2 else "acme", zone=lambda n: "ab"[n % 4 == 0]) * 5
    assert named(hottest(bad, good)) == (["tenant=globex", "zone=b"], [])


def test_attributes_of_the_same_requests_are_one() -> None:
    def version(number: int) -> str:
        return "2" if number % 4 == 0 else "1"

    bad = seen(20, version=lambda _: "2", zone=lambda _: "2")
    assert named(hottest(bad, seen(100, version=version, zone=version))) == (["version=2"], ["zone=2"])


@pytest.mark.parametrize("few", [4, 0])
def test_few_requests_say_nothing(few: int) -> None:
    assert hottest(seen(few, zone=lambda _: "a"), seen(100, zone=lambda _: "b")) is None
    assert hottest(seen(100, zone=lambda _: "a"), seen(few, zone=lambda _: "b")) is None


def _any(random: Random, _: int) -> str:
    return random.choice(TENANTS)


@pytest.mark.gate
def test_what_is_there_by_chance_is_nothing() -> None:
    for seed in range(200):
        random = Random(seed)
        tags = {f"tag{each}": partial(_any, random) for each in range(20)}
        assert hottest(seen(12, **tags), seen(100, **tags)) is None


def test_a_path_that_only_bad_requests_take_is_no_attribute() -> None:
    """Only they ask the stock, which has two instances; the others have no such attribute."""
    bad = seen(20, stock=lambda n: "stock-1" if n else "stock-2", zone=lambda n: "ab"[n % 2])
    assert hottest(bad, seen(100, zone=lambda n: "ab"[n % 2])) is None


def test_a_change_is_no_attribute() -> None:
    """Since the deployment all are slow: that is a regression."""
    bad, good = seen(50, 200, version=lambda _: "2"), seen(100, version=lambda _: "1")
    assert hottest(bad, good) is None
    assert named(hottest([*bad, *seen(5, version=lambda _: "2")], good)) == (["version=2"], [])


def test_the_attributes_of_a_trace() -> None:
    tags = "\x1ftenant\x1eglobex\x1f\x01\x1eGET:/x\x1fhttp.status_code\x1e500\x1ftime.ready\x1e5\x1flong\x1ea\x1d\x1f"
    assert {(each.text, each.term) for each in attributes_of([("shop", "1f@10.0.0.1", tags)])} == {
        ("tenant=globex", "tenant=globex"),
        ("the instance is 1f@10.0.0.1", "instance:1f@10.0.0.1"),
        ("the host is 10.0.0.1", "instance:*@10.0.0.1"),
    }


@pytest.mark.parametrize("name", ["http.url", "url", "http.status_code", "loop.runs", "db.statement", "pool.in_use"])
def test_what_a_request_did_is_no_attribute(name: str) -> None:
    assert not any(each.name == name for each in attributes_of([("shop", "shop-1", f"\x1f{name}\x1e1\x1f")]))


def order(number: int, *, slow: bool, failed: bool = False, tenant: str = "", instance: int = 1) -> list[Segment]:
    asked = Did("SELECT balance", 3, 803 if slow else 11, "ledger-db:5432")
    served = Request("payments", "POST:/pay", 2, asked.end + 1, [asked], error=failed)
    tags = {"tenant": tenant or TENANTS[number % 5]}
    request = Request("shop", "GET:/order", 0, asked.end + 4, [call(served, error=failed)], error=failed, tags=tags)
    return [
        replace(each, instance=f"payments-{instance}") if each.service == "payments" else each
        for each in made(request, number * 100)
    ]


def hot_ones(*traces: list[Segment]) -> list[Finding]:
    return [each for each in findings(*traces) if each.kind == "hot_attribute"]


def test_slow_requests_of_one_tenant() -> None:
    traces = [order(n, slow=n % 10 == 9, tenant="globex" if n % 10 == 9 else "") for n in range(200)]
    [finding] = hot_ones(*traces)
    assert finding.sentence == (
        "shop · GET:/order is slow where tenant=globex: 20 of 20 slow requests, 40 of 180 others"
    )
    assert (finding.count, finding.confidence) == (20, "medium")
    assert finding.link == "#/traces?service=shop&endpoint=GET%3A%2Forder&q=tenant%3Dglobex"


@pytest.mark.parametrize("requests", [300, 1000])
def test_failed_requests_of_one_tenant_at_one_instance(requests: int) -> None:
    """Tenants and instances take turns, so that every so many requests are alike."""

    def failing(number: int) -> list[Segment]:
        tenant, instance = TENANTS[number % 5], number // 5 % 2 + 1
        failed = (tenant, instance) == ("globex", 2)
        return order(number, slow=False, failed=failed, tenant=tenant, instance=instance)

    [finding] = hot_ones(*map(failing, range(requests)))
    assert finding.sentence == (
        "shop · GET:/order fails where the instance is payments-2 and tenant=globex: "
        f"{requests // 10} of {requests // 10} failed requests, 0 of 200 others"
    )
    assert (finding.failures, finding.confidence) == (requests // 10, "high")


def test_one_of_two_instances_is_slow() -> None:
    """Half of the requests are, so that the median is of no use."""
    [finding] = hot_ones(*(order(n, slow=n % 2 == 0, instance=n % 2 + 1) for n in range(100)))
    assert "is slow where the instance is payments-1" in finding.sentence
    assert finding.ms > 0


def test_slow_requests_of_all_tenants_have_no_attribute() -> None:
    traces = [order(n, slow=n % 9 == 8, instance=n % 2 + 1) for n in range(200)]
    assert hot_ones(*traces) == []
