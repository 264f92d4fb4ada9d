"""Profile tasks that are made at the collector: who may make them, which agents get them, and what their stacks say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.served import Api, channel_to, line, serving, shop_and_stock
from swagent.collector.api import stack_tree
from swagent.collector.api.frames import is_library
from swagent.collector.api.profile_order import MAX_BODY
from swagent.collector.api.stack_tree import MAX_NODES, Look, StackTree
from swagent.collector.server import Collector
from swagent.collector.store.profile_tasks import KEPT, LONGEST_WAIT, BusyError, ProfileTask
from swagent.collector.store.records import ProfileFinish, ThreadSnapshot
from swagent.collector.store.store import Store
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio
Served = tuple[Collector, httpx.AsyncClient]
ORDER = {"service": "shop", "endpoint": "GET:/slow", "seconds": 20, "period_ms": 20, "samples": 3, "min_ms": 5}
NOW = 1_700_000_000_000


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as both:
        yield both


def task(name: str = "one", service: str = "shop", created: int = NOW, seconds: int = 20) -> ProfileTask:
    return ProfileTask(name, service, "GET:/slow", seconds, 10, 5, 0, created)


async def ask(
    collector: Collector, service: str = "shop", instance: str = "i1", since: int = 0
) -> list[dict[str, str]]:
    """The commands for an agent that asks over gRPC."""
    async with channel_to(collector) as channel:
        query = wire.ProfileTaskCommandQuery(service, instance, since)
        answer = await wire.ProfileTaskStub(channel).get_profile_task_commands(query)
    assert {each.command for each in answer.commands} <= {"ProfileTaskQuery"}
    return [{pair.key: pair.value for pair in each.args} for each in answer.commands]


async def test_a_task_goes_to_the_agents_of_its_service_in_skywalkings_form(served: Served) -> None:
    collector, client = served
    answer = await client.post("/api/profiles", json=ORDER)
    assert answer.status_code == 201
    made = answer.json()
    assert {**made, "id": "", "created": 0} == {**ORDER, "id": "", "created": 0}
    assert await ask(collector, "stock") == []
    [command] = await ask(collector)
    started = int(command.pop("StartTime"))
    assert command == {
        "SerialNumber": made["id"], "TaskId": made["id"], "EndpointName": "GET:/slow", "Duration": "1",
        "MinDurationThreshold": "5", "DumpPeriod": "20", "MaxSamplingCount": "3", "CreateTime": str(made["created"]),
    }  # fmt: skip
    # a minute that began 40 seconds ago ends in 20 seconds
    assert -1000 <= started - (made["created"] - 40_000) <= 60_000
    assert await ask(collector, since=made["created"]) == [], "it knows it already"
    assert len(await ask(collector)) == 1, "its answer got lost"
    assert len(await ask(collector, instance="i2")) == 1
    [known] = (await client.get("/api/profiles")).json()["tasks"]
    assert (known["state"], sorted(known["taken"]), known["finished"]) == ("running", ["i1", "i2"], {})


async def test_a_task_is_over_when_all_that_took_it_are_through(served: Served) -> None:
    collector, client = served
    made = (await client.post("/api/profiles", json=ORDER)).json()
    version = collector.store.version
    await ask(collector)
    assert collector.store.version > version, "the page hears of it"
    busy = await client.post("/api/profiles", json={**ORDER, "endpoint": "GET:/other"})
    assert (busy.status_code, busy.json()["task"]) == (409, made["id"])
    assert (await client.post("/api/profiles", json={**ORDER, "service": "stock"})).status_code == 201
    for instance in ("stranger", "i1", "i1"):
        collector.store.add(ProfileFinish("shop", instance, made["id"]))
    answer = (await client.get(f"/api/profiles/{made['id']}")).json()
    assert (answer["state"], [*answer["finished"]], answer["nodes"], answer["asking"]) == ("finished", ["i1"], [], 1)
    assert await ask(collector, instance="late") == []
    again = (await client.post("/api/profiles", json=ORDER)).json()
    assert [each["TaskId"] for each in await ask(collector, since=made["created"])] == [again["id"]]


def test_a_task_that_no_instance_takes_is_missed_and_one_that_gets_no_order_to_end_ends() -> None:
    now = NOW / 1000
    store = Store(clock=lambda: now)
    store.order_profile(task())
    now += LONGEST_WAIT - 1
    assert store.profiles()[0].state(int(now * 1000)) == "waiting"
    with pytest.raises(BusyError, match=r"shop.*/slow"):
        store.order_profile(task("two", created=int(now * 1000)))
    now += 1
    assert store.profiles()[0].state(int(now * 1000)) == "missed"
    assert store.assign_profiles("shop", "i1", 0) == []
    second = store.order_profile(task("two", created=int(now * 1000)))
    assert store.assign_profiles("shop", "i1", 0) == [second]
    now += 21
    assert store.assign_profiles("shop", "i1", 0) == [], "its time is over"
    assert store.profiles()[1].state(int(now * 1000)) == "running"
    now += 10
    assert store.profiles()[1].state(int(now * 1000)) == "finished"


def test_later_tasks_are_later_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    path = str(tmp_path / "store")
    store = Store(path=path, clock=lambda: NOW / 1000)
    tasks = [store.order_profile(task(f"t{number}", f"s{number}")) for number in range(KEPT + 1)]
    assert [each.created for each in tasks] == [NOW + number for number in range(KEPT + 1)]
    for instance in range(300):
        store.assign_profiles("s1", f"i{instance}", 0)
    store.close()
    again = Store(path=path)
    assert [each.task for each in again.profiles()] == tasks[1:]
    assert len(again.profiles()[0].taken) == 200
    again.close()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"service": ""}, "service"),
        ({"service": "a\nb"}, "service"),
        ({"service": "\ud800"}, "service"),
        ({"endpoint": "x" * 513}, "endpoint"),
        ({"endpoint": None}, "endpoint"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": 901}, "seconds"),
        ({"seconds": True}, "seconds"),
        ({"seconds": "60"}, "seconds"),
        ({"seconds": 1.5}, "seconds"),
        ({"period_ms": 9}, "period_ms"),
        ({"samples": 10}, "samples"),
        ({"min_ms": -1}, "min_ms"),
        ({"color": 1}, "no such field: 'color'"),
        ({"\ud800": 1}, "no such field"),
    ],
)
async def test_an_order_that_is_no_task_is_refused(changes: dict[str, Any], word: str) -> None:
    api = Api()
    body = json.dumps({**ORDER, **changes})
    answer = await api.client.post("/api/profiles", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, word in answer.json()["error"]) == (400, True)
    assert api.store.profiles() == []


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"origin": "http://127.0.0.1"}, None, 201),
        ({"content-type": "application/json; charset=utf-8"}, None, 201),
        ({"content-type": "text/plain"}, None, 415),
        ({"content-type": ""}, None, 415),
        ({"origin": "http://evil.example"}, None, 403),
        ({}, b"{", 400),
        ({}, b"[]", 400),
        ({}, b"\xff\xfe", 400),
        ({}, b"[" * 4000, 400),
        ({}, b"[" + b" " * MAX_BODY, 413),
    ],
)
async def test_requests_that_may_make_a_task(headers: dict[str, str], body: bytes | None, status: int) -> None:
    api = Api()
    content = body if body is not None else b'{"service": "shop", "endpoint": "GET:/slow"}'
    sent = {"content-type": "application/json", **headers}
    answer = await api.client.post("/api/profiles", content=content, headers=sent)
    assert answer.status_code == status, answer.text
    assert status == 201 or answer.json()["error"]
    assert len(api.store.profiles()) == (status == 201)


def stacks(store: Store, segment: str, first: int, *lines: tuple[int, str], name: str = "one") -> None:
    """Stacks of a segment with numbers that follow each other; and the one that only lists it."""
    store.add(ThreadSnapshot(name, segment, lines[0][0] - 1, 0, ("listed",)))
    for number, (time, text) in enumerate(lines, first):
        store.add(ThreadSnapshot(name, segment, time, number, tuple(text.split())))


async def test_stacks_are_merged_by_their_times(api: Api) -> None:
    api.add(*shop_and_stock(1))
    store = api.store
    store.order_profile(task())
    stacks(
        store, "a-1", 100,
        (NOW, "GET:/slow app.slow:3 [running]"),
        (NOW + 10, "GET:/slow app.slow:3 [running]"),
        (NOW + 40, "GET:/slow app.slow:3 app.ask:9 [awaiting_db]"),
        (NOW + 60, "GET:/slow app.slow:3 app.ask:9 [awaiting_db]"),
        (NOW + 61, "GET:/slow app.slow:3 [running]"),
    )  # fmt: skip
    stacks(store, "later", 500, (NOW + 2000, "GET:/slow app.slow:3 [ready]"), (NOW + 2005, "GET:/slow app.slow:4"))
    answer = await api("profiles/one")
    assert [(each["segment_id"], each["trace_id"], each["snapshots"]) for each in answer["segments"]] == [
        ("a-1", "trace-1", 5),
        ("later", None, 2),
    ]
    rows = [(each["depth"], each["name"], each["count"], each["ms"], each["oap_ms"]) for each in answer["nodes"]]
    assert rows == [
        (0, "GET:/slow", 7, 66, 66),
        (1, "app.slow:3", 6, 66, 61),
        (2, "[running]", 3, 40, 10),
        (2, "app.ask:9", 2, 21, 20),
        (3, "[awaiting_db]", 2, 21, 20),
        (2, "[ready]", 1, 5, 0),
        (1, "app.slow:4", 1, 0, 0),
    ]
    assert [each["state"] for each in answer["nodes"]] == ["", "", "running", "", "awaiting", "ready", ""]
    assert [each["library"] for each in answer["nodes"]] == [False] * 7
    assert [each["self_ms"] for each in answer["nodes"]] == [0, 0, 40, 0, 21, 5, 0]
    one = await api("profiles/one", segment="later")
    assert [each["name"] for each in one["nodes"]] == ["GET:/slow", "app.slow:3", "[ready]", "app.slow:4"]
    part = await api("profiles/one", segment="a-1", from_=NOW + 10, to=NOW + 60)
    assert (part["nodes"][0]["count"], part["nodes"][0]["ms"]) == (3, 50)


async def test_tasks_are_listed_with_their_segments_and_found_by_trace(api: Api) -> None:
    api.add(*shop_and_stock(1))
    store = api.store
    store.order_profile(task())
    store.order_profile(task("two", "stock"))
    stacks(store, "a-1", 100, (NOW, "a b"))
    stacks(store, "b-1", 300, (NOW, "a b"), name="of another collector")
    found = (await api("profiles"))["tasks"]
    assert [(each["id"], each["state"], len(each["segments"])) for each in found] == [
        ("two", "missed", 0), ("one", "missed", 1), ("of another collector", "elsewhere", 1),
    ]  # fmt: skip
    assert (found[2]["service"], found[2]["endpoint"]) == ("stock", "/stock")
    by_trace = (await api("profiles", trace_id="trace-1"))["tasks"]
    assert [each["id"] for each in by_trace] == ["one", "of another collector"]
    assert (await api("profiles", trace_id="other"))["tasks"] == []
    await api("profiles/nothing", 404)


async def test_stacks_from_other_agents_begin_at_number_0(api: Api) -> None:
    api.add(*(ThreadSnapshot("java", "s", NOW + number * 10, number, ("main", "run")) for number in range(250)))
    nodes = (await api("profiles/java"))["nodes"]
    assert [(each["count"], each["ms"], each["oap_ms"]) for each in nodes] == [(250, 2490, 2490)] * 2


def test_the_rarest_calls_are_left_out_and_no_gap_comes_of_it() -> None:
    tree = StackTree()
    number = 0
    for call in range(MAX_NODES + 500):
        for _ in range(2 if call < 100 else 1):
            number += 1
            tree.add(Look(number, number, ("root", f"call {call}", "leaf")))
    nodes, left_out = tree.answers()
    assert len(nodes) == 201
    assert left_out == 2 * (MAX_NODES + 400)
    assert [each["depth"] for each in nodes] == [0, *[1, 2] * 100]


@pytest.mark.parametrize(
    ("call", "is_lib"),
    [
        ("uvicorn.protocols.http.run_asgi:403", True),
        ("asyncio.tasks.sleep:649", True),
        ("shop.order:46", False),
        ("__main__.order:46", False),
        ("uvicornish.run:1", False),
        ("GET:/orders/{item}", False),
        ("[awaiting asyncio.sleep]", False),
    ],
)
def test_calls_into_libraries_are_known_by_their_module(call: str, is_lib: bool) -> None:
    assert is_library(call) is is_lib


def test_tasks_without_a_name_are_one_and_are_beside_the_request() -> None:
    tree = StackTree()
    names = ("GET:/a", "GET:/a / task Task-1", "GET:/a / task Task-22", "GET:/a / task fetch", "GET:/a / thread")
    for number, name in enumerate(names):
        tree.add(Look(number, number, (name, "app.work:1")))
    nodes, _ = tree.answers()
    assert {each["name"]: (each["count"], each["beside"]) for each in nodes if not each["depth"]} == {
        "GET:/a": (1, False),
        "GET:/a / tasks": (2, True),
        "GET:/a / task fetch": (1, True),
        "GET:/a / thread": (1, True),
    }


def test_calls_beyond_a_bound_count_for_their_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_tree, "MAX_GROWN", 4)
    tree = StackTree()
    for number, name in enumerate(("a", "b", "c", "a")):
        tree.add(Look(number, number * 10, ("root", f"app.{name}:1", "[running]")))
    nodes, left_out = tree.answers()
    assert [(each["name"], each["count"], each["ms"]) for each in nodes] == [
        ("root", 4, 30), ("app.a:1", 2, 10), ("[running]", 2, 10), ("app.b:1", 1, 10),
    ]  # fmt: skip
    assert left_out == 2


async def test_stacks_are_merged_once_until_others_come(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[str] = []
    begin = StackTree.begin_segment

    def note(tree: StackTree) -> None:
        merged.append("segment")
        begin(tree)

    monkeypatch.setattr(StackTree, "begin_segment", note)
    stacks(api.store, "s", 100, (NOW, "a b"), (NOW + 10, "a b"))
    first = await api("profiles/one")
    api.add(line(1))
    assert (await api("profiles/one"))["nodes"] == first["nodes"]
    assert merged == ["segment"]
    api.add(ThreadSnapshot("one", "s", NOW + 30, 102, ("a", "c")))
    assert [each["name"] for each in (await api("profiles/one"))["nodes"]] == ["a", "b", "c"]
    assert len(merged) == 2
