"""The answers of the page's API about the records that arrived."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import anyio
import pytest

from collector.served import ADDRESSES, START, Api, line, shop_and_stock
from swagent.collector.api import calls as calls_query
from swagent.collector.api import instances as instances_query
from swagent.collector.api import meters as meters_query
from swagent.collector.api.meters import quantile
from swagent.collector.store.database import StoreError
from swagent.collector.store.records import Event, KeepAlive, Meter, Properties
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment, Span

pytestmark = pytest.mark.anyio


def fill(store: Store, traces: int = 10) -> None:
    for number in range(traces):
        for segment in shop_and_stock(number, error=number == 3):
            store.add(segment)
        store.add(line(number, "ERROR" if number == 3 else "INFO", f"trace-{number}" if number < 2 else ""))


async def test_traces_newest_first_page_by_page(api: Api) -> None:
    fill(api.store)
    seen: list[str] = []
    cursor = ""
    while True:
        page = await api("traces", limit=4, cursor=cursor)
        assert (page["total"], page["total_is_exact"]) == (10, True)
        seen += [trace["trace_id"] for trace in page["traces"]]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert seen == [f"trace-{number}" for number in range(9, -1, -1)]
    first = (await api("traces", limit=1))["traces"][0]
    assert first == {
        "trace_id": "trace-9", "start": START + 9000, "duration": 19, "spans": 4, "errors": 0, "failed": False,
        "endpoint": "/orders", "service": "shop", "services": ["shop", "stock"], "has_logs": False, "failure": None,
        "mostly": {"kind": "unsplit", "text": "own code or a wait", "share": 0.5789},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"errors": 1}, [3]),
        ({"min_ms": 18}, [9, 8]),
        ({"max_ms": 11}, [1, 0]),
        ({"from": START + 8000}, [9, 8]),
        ({"to": START + 1000}, [1, 0]),
        ({"q": "trace-4"}, [4]),
        ({"q": "lAMP 7"}, [7]),
        ({"q": "SELECT", "limit": 2}, [9, 8]),
        ({"q": "nothing like it"}, []),
        ({"q": "' OR 1=1 --"}, []),
        ({"service": "stock", "min_ms": 19}, [9]),
        ({"service": "nobody"}, []),
        ({"endpoint": "/stock", "max_ms": 5}, []),
        ({"endpoint": "/stock", "min_ms": 6, "limit": 2}, [9, 8]),
        ({"endpoint": "SELECT"}, []),
        ({"sort": "slowest", "limit": 2}, [9, 8]),
    ],
)
async def test_traces_are_found(api: Api, parameters: dict[str, Any], expected: list[int]) -> None:
    fill(api.store)
    found = await api("traces", **parameters)
    assert [trace["trace_id"] for trace in found["traces"]] == [f"trace-{number}" for number in expected]


async def test_one_trace(api: Api) -> None:
    fill(api.store, 2)
    trace = await api("traces/trace-1")
    assert (trace["start"], trace["duration"], trace["services"]) == (START + 1000, 11, ["shop", "stock"])
    assert [(span["id"], span["parent"], span["depth"], span["kind"]) for span in trace["spans"]] == [
        ("a-1:0", None, 0, "entry"),
        ("a-1:1", "a-1:0", 1, "exit"),
        ("b-1:0", "a-1:1", 2, "entry"),
        ("b-1:1", "b-1:0", 3, "exit"),
    ]
    assert trace["spans"][1] == {
        "id": "a-1:1", "parent": "a-1:0", "depth": 1, "service": "shop", "instance": "shop-1", "operation": "/stock",
        "kind": "exit", "layer": "Http", "component": "HTTPX", "peer": "stock:80", "start": START + 1001,
        "end": START + 1009, "shift": 0, "error": False, "tags": [["item", "Lamp 1"]], "logs": [],
        "missing_parent": False, "parents": [], "consumers": [],
    }  # fmt: skip
    assert [entry["text"] for entry in trace["logs"]] == ["Order 1 of a Größe"]
    missing = await api("traces/nowhere", 404)
    assert "nowhere" in missing["error"]


@pytest.mark.gate
async def test_odd_traces(api: Api) -> None:
    """Span numbers given twice, spans in a circle, deep ones, ids that need quoting, markup."""
    twice = Segment("a/b c?", "s", "shop", "i", (Span(0, -1, 1, 2, "<script>"), Span(0, -1, 1, 2, "second")))
    circle = Segment("circle", "c", "shop", "i", (Span(0, 1, 1, 2, "a"), Span(1, 0, 1, 2, "b")))
    deep = Segment("deep", "d", "shop", "i", tuple(Span(n, n - 1, n, n, "x") for n in range(12_000)))
    empty = Segment("empty", "e", "shop", "i", ())
    api.add(twice, circle, deep, empty)
    spans = (await api("traces/a%2Fb%20c%3F"))["spans"]
    assert [span["operation"] for span in spans] == ["<script>", "second"]
    assert len({span["id"] for span in spans}) == 2
    assert len((await api("traces/circle"))["spans"]) == 2
    answer = await api("traces/deep")
    assert (len(answer["spans"]), answer["left_out"], answer["spans"][-1]["depth"]) == (10_000, 2_000, 9_999)
    assert (await api("traces/empty"))["spans"] == []
    assert (await api("traces"))["total"] == 4


async def test_services_and_endpoints(api: Api) -> None:
    fill(api.store)
    api.store.add(Properties("idle", "i", (), ""))
    services = {each["name"]: each for each in (await api("services"))["services"]}
    assert list(services) == ["idle", "shop", "stock"]
    shop = services["shop"]
    sums = {
        "instances": 1, "endpoints": 1, "calls": 10, "errors": 1, "error_rate": 0.1, "p50": 14, "p95": 19, "p99": 19,
        "calls_per_minute": 0.0, "total": sum(range(10, 20)),
    }  # fmt: skip
    assert shop == {**shop, **sums}
    assert shop["last_seen"] > START
    assert (services["idle"]["calls"], services["idle"]["p50"]) == (0, None)
    some = (await api("services", from_=START + 2000, to=START + 4999))["services"]
    assert {each["name"]: each["calls"] for each in some} == {"idle": 0, "shop": 3, "stock": 3}
    assert (await api("services/shop/endpoints", from_=START + 8000))["endpoints"][0]["calls"] == 2
    [endpoint] = (await api("services/stock/endpoints"))["endpoints"]
    assert (endpoint["name"], endpoint["calls"], endpoint["errors"], endpoint["p50"]) == ("/stock", 10, 1, 6)


async def test_the_map(api: Api) -> None:
    fill(api.store)
    found = await api("map")
    edges = {(edge["from"], edge["to"]): edge for edge in found["edges"]}
    assert set(edges) == {("User", "shop"), ("shop", "stock"), ("stock", "db:5432")}
    assert (edges["shop", "stock"]["calls"], edges["shop", "stock"]["errors"]) == (10, 1)
    assert edges["stock", "db:5432"]["p50"] == 2
    assert {node["name"]: (node["kind"], node["calls"]) for node in found["nodes"]} == {
        "shop": ("service", 10), "stock": ("service", 10), "User": ("peer", 10), "db:5432": ("peer", 10)
    }  # fmt: skip


async def test_errors_and_comparisons(api: Api) -> None:
    fill(api.store)
    found = await api("errors", sort="count")
    assert [(each["operation"], each["services"]) for each in found["groups"]] == [
        ("/orders", ["shop"]), ("/stock", ["stock"])
    ]  # fmt: skip
    group = await api(f"errors/{found['groups'][0]['id']}")
    assert group["examples"][0]["trace_id"] == "trace-3"
    assert "nothing is kept" in (await api("errors/0123", 404))["error"]
    assert "sort" in (await api("errors", 400, sort="best"))["error"]
    compared = await api("compare", at=START + 5000)
    assert compared["least"] > 0
    calls = {each["endpoint"]: (each["before"]["calls"], each["after"]["calls"]) for each in compared["endpoints"]}
    assert calls == {"/orders": (5, 5), "/stock": (5, 5)}
    queries = {each["endpoint"]: each["after"]["queries"] for each in compared["endpoints"]}
    assert queries == {"/orders": 0, "/stock": 1}
    assert "at" in (await api("compare", 400))["error"]
    assert "at" in (await api("compare", 400, at=""))["error"]
    middle = await api("median", service="shop", endpoint="/orders", trace="trace-0")
    assert middle["trace_id"] == "trace-5"
    assert "endpoint" in (await api("median", 400, service="shop"))["error"]


async def test_a_call_without_an_answer_goes_to_the_service_that_answered_there_before(api: Api) -> None:
    _, asking = shop_and_stock(10)
    api.store.add(asking)
    assert {node["name"]: node["kind"] for node in (await api("map"))["nodes"]}["stock:80"] == "peer"
    fill(api.store)
    found = await fresh(api, "map")
    calls = {(edge["from"], edge["to"]): edge["calls"] for edge in found["edges"]}
    assert calls == {("User", "shop"): 11, ("shop", "stock"): 11, ("stock", "db:5432"): 10}
    assert {node["name"]: node["calls"] for node in found["nodes"]}["stock"] == 10, "what it reported itself"


async def test_where_several_answer_a_call_without_an_answer_is_one_to_the_peer(api: Api) -> None:
    fill(api.store, 2)
    answer, asking = shop_and_stock(3)
    api.store.add(replace(answer, service="stock-b"))
    api.store.add(asking)
    _, unanswered = shop_and_stock(4)
    api.store.add(unanswered)
    calls = {(edge["from"], edge["to"]): edge["calls"] for edge in (await api("map"))["edges"]}
    assert (calls["shop", "stock"], calls["shop", "stock-b"], calls["shop", "stock:80"]) == (2, 1, 1)


async def test_sums_are_there_at_once_made_once_for_many_and_fresh_after(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last answer is given while the next one is made. It says by its version that it is old."""
    fill(api.store, 1)
    made: list[int] = []
    may_go_on = threading.Event()
    original = calls_query.service_map

    def counted(store: Store) -> Any:
        made.append(store.version)
        if len(made) > 1:
            assert may_go_on.wait(20)
        return original(store)

    monkeypatch.setattr(calls_query, "service_map", counted)
    answers: list[Any] = []

    async def ask() -> None:
        answers.append(await api("map"))

    async def ask_five_times() -> list[int]:
        answers.clear()
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
        return [answer["version"] for answer in answers]

    first = api.store.version
    assert await ask_five_times() == [first] * 5
    fill(api.store, 2)
    assert await ask_five_times() == [first] * 5, "no answer waits for the one that is being made"
    may_go_on.set()
    await fresh(api, "map")
    assert len(made) == 2


@pytest.mark.gate
async def test_sums_survive_a_store_that_cannot_be_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(api.store, 1)
    first = await api("map")
    original, failures = calls_query.service_map, list[int]()

    def failing(store: Store) -> Any:
        if not failures:
            failures.append(1)
            raise StoreError("the disk is full")
        return original(store)

    monkeypatch.setattr(calls_query, "service_map", failing)
    fill(api.store, 2)
    assert await api("map") == first
    await fresh(api, "map")
    assert failures == [1]


async def fresh(api: Api, path: str) -> Any:
    """The answer for what is kept now; an old one may come before it."""
    for _ in range(2000):
        if (answer := await api(path))["version"] == api.store.version:
            return answer
        await anyio.sleep(0.01)  # a thread makes it
    pytest.fail(f"{path} stays old")


async def test_logs(api: Api) -> None:
    fill(api.store)
    page = await api("logs", limit=6)
    rest = await api("logs", limit=6, cursor=page["next"])
    assert (page["total"], rest["total"]) == (10, 10)
    texts = [entry["text"] for entry in (*page["logs"], *rest["logs"])]
    assert texts == [f"Order {number} of a Größe" for number in range(9, -1, -1)]
    assert rest["next"] is None
    for parameters, expected in (
        ({"level": "error"}, [3]),
        ({"level": "ERROR,INFO", "limit": 1}, [9]),
        ({"q": "oRDER 5"}, [5]),
        ({"q": "Größe", "limit": 1}, [9]),
        ({"q": "shop.orders", "limit": 1}, [9]),
        ({"trace_id": "trace-1"}, [1]),
        ({"service": "stock"}, []),
        ({"from": START + 9000}, [9]),
        ({"to": START}, [0]),
    ):
        found = await api("logs", **parameters)
        assert [entry["time"] for entry in found["logs"]] == [START + number * 1000 for number in expected], parameters
        assert found["total"] >= len(expected)
    [entry] = (await api("logs", trace_id="trace-1"))["logs"]
    assert entry.pop("id")
    assert entry == {
        "time": START + 1000, "service": "shop", "instance": "shop-1", "level": "INFO", "logger": "shop.orders",
        "text": "Order 1 of a Größe", "trace_id": "trace-1", "segment_id": "a-1", "span_id": 0, "endpoint": "/orders",
        "tags": [["level", "INFO"], ["logger", "shop.orders"]],
    }  # fmt: skip


async def test_meters(api: Api) -> None:
    for time, value in ((1, 1.5), (2, 2.5), (3, float("nan"))):
        api.store.add(Meter("shop", "i1", "cpu", (("core", "0"),), time, value))
    api.store.add(Meter("shop", "i1", "cpu", (("core", "1"),), 3, 7.0))
    for time, few, many in ((1, 1, 3), (2, 2, 12), (3, 0, 4)):  # totals; the last after a restart
        api.store.add(Meter("shop", "i1", "latency", (), time, None, ((0.0, few), (10.0, many), (20.0, 0))))
    listed = {each["name"]: each for each in (await api("meters", service="shop"))["meters"]}
    assert listed["cpu"] == {
        "service": "shop", "instance": "i1", "name": "cpu", "kind": "single", "labels": [{"core": "0"}, {"core": "1"}],
        "last": 7.0,
    }  # fmt: skip
    assert listed["latency"]["kind"] == "histogram"
    assert (await api("meters", service="other"))["meters"] == []
    cpu = await api("meters/series", service="shop", instance="i1", name="cpu")
    assert cpu["series"] == [
        {"labels": {"core": "0"}, "points": [[1, 1.5], [2, 2.5], [3, None]]},
        {"labels": {"core": "1"}, "points": [[3, 7.0]]},
    ]
    assert len((await api("meters/series", service="shop", instance="i1", name="cpu", **{"from": 3}))["series"]) == 2
    latency = await api("meters/series", service="shop", instance="i1", name="latency")
    curves = {each["labels"]["quantile"]: each["points"] for each in latency["series"]}
    assert curves["count"] == [[1, 4], [2, 10], [3, 4]]
    assert curves["p50"] == [[1, pytest.approx(13.33, abs=0.01)], [2, pytest.approx(14.44, abs=0.01)], [3, 15.0]]
    assert "name" in (await api("meters/series", 400, service="shop", instance="i1"))["error"]


def test_quantiles_of_odd_buckets() -> None:
    assert quantile([], 0.5) is None
    assert quantile([(0.0, 0)], 0.5) is None
    assert quantile([(float("-inf"), 2), (10.0, 0)], 0.5) == 5.0
    assert quantile([(10.0, 3)], 0.99) == 10.0


async def test_ledgers(api: Api) -> None:
    for name, labels, value in (
        ("offered", (), 10.0), ("confirmed", (), 7.0), ("queued", (), 1.0), ("in_flight", (), 0.0),
        ("spilled", (), 4.0), ("recovered", (), 5.0),
        ("dropped", (("reason", "ambiguous"),), 2.0), ("refused", (("reason", "queue_full"),), 3.0),
    ):  # fmt: skip
        api.store.add(Meter("shop", "i1", f"swagent_records_{name}", (*labels, ("signal", "segment")), 9, value))
    api.store.add(Meter("shop", "i1", "cpu", (), 9, 1.0))
    assert (await api("ledgers"))["agents"] == [
        {"service": "shop", "instance": "i1", "state": "alive", "time": 9, "signals": [
            {"signal": "segment", "offered": 10, "confirmed": 7, "queued": 1, "in_flight": 0,
             "spilled": 4, "recovered": 5, "refused": {"queue_full": 3}, "dropped": {"ambiguous": 2}},
        ], "is_final": False},
    ]  # fmt: skip


async def test_who_stops_sends_its_last_ledger(api: Api) -> None:
    def stop(**ledger: str) -> None:
        api.store.add(Event("u", "shop", "i1", "", "Shutdown", "Normal", "m", ledger, 20, 20, ""))

    async def ledger() -> tuple[bool, int, list[Any]]:
        [agent] = (await api("ledgers"))["agents"]
        [process] = (await api("processes"))["processes"]
        assert (process["is_final"], process["signals"]) == (agent["is_final"], agent["signals"])
        return agent["is_final"], agent["time"], agent["signals"]

    api.store.add(Meter("shop", "i1", "swagent_records_in_flight", (("signal", "segment"),), 9, 6.0))
    nothing: dict[str, Any] = {
        "queued": 0, "in_flight": 0, "spilled": 0, "recovered": 0, "refused": {}, "dropped": {}
    }  # fmt: skip
    reported = {"signal": "segment", "offered": 0, "confirmed": 0, **nothing, "in_flight": 6}
    assert await ledger() == (False, 9, [reported])
    for text in ("", "ended well", "offered=three", "offered.full=1", "refused=1", "queued=-1"):
        stop(segment=text)
        assert await ledger() == (False, 9, [reported]), "what is not understood says nothing"
    stop(segment="offered=7 confirmed=6 dropped.rejected=1")
    last = {"signal": "segment", "offered": 7, "confirmed": 6, **nothing, "dropped": {"rejected": 1}}
    assert await ledger() == (True, 20, [last])
    stop(segment="offered=7 confirmed=2 spilled=4 recovered=3 dropped.rejected=1")
    last |= {"confirmed": 2, "spilled": 4, "recovered": 3}
    assert await ledger() == (True, 20, [last])
    api.store.add(Meter("shop", "i1", "swagent_records_in_flight", (("signal", "segment"),), 21, 6.0))
    assert (await ledger())[0] is False, "it reports again"


async def test_instances_events_status(api: Api) -> None:
    api.add(Properties("shop", "i1", (("language", "python"), ("OS Name", "linux")), "GENERAL"))
    api.add(KeepAlive("shop", "i1", "GENERAL"), Meter("shop", "i1", "cpu", (), 1, 1.0))
    fill(api.store, 1)
    [first] = (await api("instances", service="stock"))["instances"]
    assert (first["name"], first["properties"], first["alive"]) == ("stock-1", {}, True)
    by_name = {each["name"]: each for each in (await api("instances"))["instances"]}
    assert (by_name["i1"]["language"], by_name["i1"]["meters"]) == ("python", ["cpu"])
    api.add(*(Event("u", "shop", "i1", "", "Shutdown", "Normal", "m", {}, 5, end, "") for end in (0, 7)))
    [event] = (await api("events"))["events"]
    assert (event["name"], event["time"], event["end"]) == ("Shutdown", 5, 7)
    assert (await api("events", service="other"))["events"] == []
    status = await api("status")
    assert (status["segments"], status["logs"], status["meters"], status["services"]) == (2, 1, 1, 2)
    assert (status["store"], status["limits"]["segments"]) == ("memory", 50_000)
    assert status == {**status, **ADDRESSES}


async def test_a_clock_that_goes_back_makes_no_duration_negative(api: Api) -> None:
    api.store.add(Segment("t", "s", "shop", "i", (Span(0, -1, 1000, 900, "/a", kind="Entry"),)))
    assert [each["duration"] for each in (await api("traces"))["traces"]] == [0]
    assert [each["duration"] for each in (await api("traces", sort="slowest", max_ms=0))["traces"]] == [0]
    assert (await api("traces/t"))["duration"] == 0


@pytest.mark.parametrize(
    ("path", "parameters", "words"),
    [
        ("traces", {"limit": 0}, "limit: takes 1 to 1000"),
        ("traces", {"limit": "x"}, "limit: takes a whole number"),
        ("traces", {"min_ms": 10**30}, "min_ms"),
        ("traces", {"sort": "oldest"}, "sort: takes newest or slowest"),
        ("traces", {"errors": "yes"}, "errors: takes 0 or 1"),
        ("traces", {"cursor": "x"}, "cursor"),
        ("traces", {"cursor": "[1]"}, "cursor"),
        *(
            (path, {"cursor": cursor}, "cursor")
            for path in ("traces", "logs")
            for cursor in (
                '["a", 1]',
                "[1e999, 1]",
                '[NaN, "a"]',
                f"[{10**30}, 1]",
                "[" * 1000,
                '[1, {"a": 1}]',
                "[true, 1]",
            )
        ),
        ("logs", {"q": "x" * 2000}, "q: takes at most"),
    ],
)
async def test_wrong_parameters_are_named(api: Api, path: str, parameters: dict[str, object], words: str) -> None:
    assert words in (await api(path, 400, **parameters))["error"]


async def test_a_meter_that_was_a_histogram_and_then_a_value(api: Api) -> None:
    """It is shown as what it is now, and what it was comes back when it is that again."""
    at: dict[str, Any] = {"service": "shop", "instance": "i1", "name": "m"}
    histogram = Meter("shop", "i1", "m", (), 1, None, ((0.0, 2), (10.0, 0)))
    api.store.add(histogram)
    api.store.add(Meter("shop", "i1", "m", (), 2, 7.5))
    found = await api("meters/series", **at)
    assert (found["kind"], found["series"]) == ("single", [{"labels": {}, "points": [[2, 7.5]]}])
    assert [each["kind"] for each in (await api("meters"))["meters"]] == ["single"]
    api.store.add(replace(histogram, timestamp=3))
    found = await api("meters/series", **at)
    assert found["kind"] == "histogram"
    assert [time for time, _ in found["series"][0]["points"]] == [1, 3]


async def test_half_a_character_is_refused_or_finds_nothing(api: Api) -> None:
    fill(api.store, 1)
    for path in ("traces", "logs"):
        error = await api(path, 400, cursor='[1, "\\ud800"]')
        assert "cursor" in error["error"]
    assert (await api("traces/%ED%A0%80", 404))["error"]
    assert (await api("traces", q="%ED%A0%80"))["traces"] == []


async def test_whoever_said_that_it_stops_is_not_alive() -> None:
    now = 1_700_000_000.0
    store = Store(clock=lambda: now)

    def say(name: str) -> None:
        store.add(Event(name, "shop", "i1", "", name, "Normal", "m", {}, 5, 5, ""))

    def state() -> tuple[str, str]:
        [instance] = instances_query.instances(store, "", now)["instances"]
        [ledger] = meters_query.ledgers(store, now)["agents"]
        assert instance["alive"] == (instance["state"] == "alive")
        return instance["state"], ledger["state"]

    say("Start")
    store.add(Meter("shop", "i1", "swagent_records_queued", (("signal", "segment"),), 9, 3.0))
    assert state() == ("alive", "alive")
    say("Shutdown")
    store.add(Meter("shop", "i1", "swagent_records_queued", (("signal", "segment"),), 9, 3.0))
    assert state() == ("stopped", "stopped"), "what it sends beside its end is no new life"
    now += 30
    store.add(KeepAlive("shop", "i1", ""))
    assert state() == ("alive", "alive"), "another process has the name"
    say("Shutdown")
    say("Start")
    assert state() == ("alive", "alive")
    now += 61
    assert state() == ("silent", "silent")
