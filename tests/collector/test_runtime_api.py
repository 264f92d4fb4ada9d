"""The answers of the API about processes, their losses, and log lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from collector.served import START, line, serving
from swagent.collector.api import pieces
from swagent.collector.store.records import Event, KeepAlive, Meter, Properties
from swagent.collector.store.store import Store

pytestmark = pytest.mark.anyio
WHO = ("shop", "shop-1")


@pytest.fixture
async def served(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Store, httpx.AsyncClient]]:
    """The store is read in pieces of one row."""
    monkeypatch.setattr(pieces, "_FIRST", 1)
    monkeypatch.setattr(pieces, "_MOST", 1)
    async with serving() as (collector, client):
        yield collector.store, client


async def ask(client: httpx.AsyncClient, path: str, status: int = 200, **parameters: Any) -> Any:
    answer = await client.get(f"/api/{path}", params={key.rstrip("_"): str(value) for key, value in parameters.items()})
    assert answer.status_code == status, answer.text
    return answer.json()


def event(name: str, time: int, instance: str = "shop-1") -> Event:
    return Event(f"{name} {instance} {time}", "shop", instance, "", name, "Normal", "", {}, time, time, "GENERAL")


def total(kind: str, reason: str, time: int, value: float) -> Meter:
    labels = (("reason", reason), ("signal", "segment"))
    return Meter(*WHO, f"swagent_records_{kind}", labels, time, value)


def offered(time: int, value: float) -> Meter:
    return Meter(*WHO, "swagent_records_offered", (("signal", "segment"),), time, value)


async def test_a_process_has_names_a_beginning_and_its_latest_values(
    served: tuple[Store, httpx.AsyncClient],
) -> None:
    store, client = served
    properties = (
        ("hostname", "box"), ("Process No.", "42"), ("python_implementation", "CPython"), ("python_version", "3.12.1"),
    )  # fmt: skip
    store.add(Properties(*WHO, properties, ""))
    store.add(event("Start", START))
    store.add(event("Start", START + 5))
    store.add(Meter(*WHO, "swagent_memory", (), START, 5e7))
    store.add(Meter(*WHO, "swagent_loop_lag", (), START, float("nan")))
    store.add(offered(START, 7))
    store.add(KeepAlive("other", "java-1", ""))
    [other, shop] = (await ask(client, "processes"))["processes"]
    assert (shop["service"], shop["instance"], shop["host"], shop["pid"]) == (*WHO, "box", "42")
    assert (shop["runtime"], shop["state"], shop["started"]) == ("CPython 3.12.1", "alive", START + 5)
    assert shop["now"] == {"swagent_memory": 5e7}
    assert [each["offered"] for each in shop["signals"]] == [7]
    assert (other["host"], other["started"], other["signals"], other["reported"]) == ("", None, [], None)


async def test_one_process_over_time_has_the_meters_that_say_how_it_does_and_its_own_events(
    served: tuple[Store, httpx.AsyncClient],
) -> None:
    store, client = served
    for step in range(3):
        store.add(Meter(*WHO, "swagent_tasks", (), START + step, step))
    store.add(Meter(*WHO, "orders", (), START, 1))
    store.add(event("Start", START - 5))
    store.add(event("loop_blocked", START + 1))
    store.add(event("loop_blocked", START + 1, "shop-2"))
    found = await ask(client, "process", service="shop", instance="shop-1", from_=START + 1)
    assert [each["name"] for each in found["meters"]] == ["swagent_tasks"]
    assert found["meters"][0]["series"][0]["points"] == [[START + 1, 1.0], [START + 2, 2.0]]
    assert [(each["name"], each["instance"]) for each in found["events"]] == [("loop_blocked", "shop-1")]
    assert (await ask(client, "process", 400, service="shop"))["error"] == "instance: is missing"


async def test_losses_lie_between_two_reports(served: tuple[Store, httpx.AsyncClient]) -> None:
    store, client = served
    for step, value in ((0, 5), (20, 5), (40, 9), (60, 9)):
        store.add(total("dropped", "evicted", START + step, value))
        store.add(offered(START + step, 100))

    async def lost(since: int, until: int) -> list[tuple[int, int, int]]:
        found = (await ask(client, "losses", from_=START + since, to=START + until))["losses"]
        return [(each["count"], each["from"] - START, each["to"] - START) for each in found]

    assert await lost(25, 30) == [(4, 20, 40)]
    assert await lost(40, 50) == []
    assert await lost(0, 60) == [(4, 0, 60)]
    assert await lost(70, 80) == []  # nothing is known of that yet
    assert await lost(30, 80) == [(4, 20, 60)]


async def test_a_reason_that_is_new_had_no_loss_before(served: tuple[Store, httpx.AsyncClient]) -> None:
    store, client = served
    store.add(offered(START, 1))
    store.add(total("refused", "full", START + 20, 3))
    [found] = (await ask(client, "losses", from_=START + 5, to=START + 6))["losses"]
    assert found == {
        "service": "shop", "instance": "shop-1", "signal": "segment", "kind": "refused", "reason": "full", "count": 3,
        "from": START, "to": START + 20,
    }  # fmt: skip


async def test_of_an_agent_that_began_anew_the_new_total_counts(served: tuple[Store, httpx.AsyncClient]) -> None:
    store, client = served
    for step, value in ((0, 50), (20, 2)):
        store.add(total("dropped", "expired", START + step, value))
    [found] = (await ask(client, "losses", from_=START + 5, to=START + 6))["losses"]
    assert found["count"] == 2


async def test_of_losses_before_the_first_report_the_beginning_is_not_known(
    served: tuple[Store, httpx.AsyncClient],
) -> None:
    store, client = served
    store.add(total("dropped", "expired", START + 20, 2))
    [found] = (await ask(client, "losses", from_=START, to=START + 6))["losses"]
    assert (found["count"], found["from"], found["to"]) == (2, None, START + 20)


async def test_log_lines_say_how_many_match_on_every_page(served: tuple[Store, httpx.AsyncClient]) -> None:
    store, client = served
    for number in range(9):
        store.add(line(number, "ERROR" if number % 3 == 0 else "INFO"))
    first = await ask(client, "logs", limit=4)
    second = await ask(client, "logs", limit=4, cursor=first["next"])
    assert (first["total"], second["total"]) == (9, 9)
    assert (await ask(client, "logs", level="error", limit=1))["total"] == 3
    within = await ask(client, "logs", from_=START + 2000, to=START + 4000)
    assert (within["total"], len(within["logs"])) == (3, 3)
    assert (await ask(client, "logs", q="nothing like it"))["total"] == 0


async def test_one_log_line_by_its_id(served: tuple[Store, httpx.AsyncClient]) -> None:
    store, client = served
    for number in range(3):
        store.add(line(number))
    known = (await ask(client, "logs"))["logs"][1]
    found = await ask(client, f"logs/{known['id']}")
    assert {**found, "version": 0} == {**known, "version": 0}
    for unknown in ("99", "-1", "x", "²", "9" * 30):
        await ask(client, f"logs/{unknown}", 404)
