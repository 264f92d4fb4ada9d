"""The answers of the API about processes, their losses, and log lines."""

from __future__ import annotations

import pytest

from collector.served import START, Api, line
from swagent.collector.store.records import Event, KeepAlive, Meter, Properties

pytestmark = pytest.mark.anyio
WHO = ("shop", "shop-1")


def event(name: str, time: int, instance: str = "shop-1") -> Event:
    return Event(f"{name} {instance} {time}", "shop", instance, "", name, "Normal", "", {}, time, time, "GENERAL")


def total(kind: str, reason: str, time: int, value: float) -> Meter:
    labels = (("reason", reason), ("signal", "segment"))
    return Meter(*WHO, f"swagent_records_{kind}", labels, START + time, value)


def offered(time: int, value: float) -> Meter:
    return Meter(*WHO, "swagent_records_offered", (("signal", "segment"),), START + time, value)


async def test_a_process_has_names_a_beginning_and_its_latest_values(api: Api) -> None:
    properties = (
        ("hostname", "box"), ("Process No.", "42"), ("python_implementation", "CPython"), ("python_version", "3.12.1"),
    )  # fmt: skip
    api.add(Properties(*WHO, properties, ""), event("Start", START), event("Start", START + 5), offered(0, 7))
    api.add(Meter(*WHO, "swagent_memory", (), START, 5e7), Meter(*WHO, "swagent_loop_lag", (), START, float("nan")))
    api.add(KeepAlive("other", "java-1", ""))
    [other, shop] = (await api("processes"))["processes"]
    assert (shop["service"], shop["instance"], shop["host"], shop["pid"]) == (*WHO, "box", "42")
    assert (shop["runtime"], shop["state"], shop["started"]) == ("CPython 3.12.1", "alive", START + 5)
    assert shop["now"] == {"swagent_memory": 5e7}
    assert [each["offered"] for each in shop["signals"]] == [7]
    assert (other["host"], other["started"], other["signals"], other["reported"]) == ("", None, [], None)


async def test_one_process_over_time_has_the_meters_that_say_how_it_does_and_its_own_events(api: Api) -> None:
    api.add(*(Meter(*WHO, "swagent_tasks", (), START + step, step) for step in range(3)))
    api.add(Meter(*WHO, "orders", (), START, 1), event("Start", START - 5))
    api.add(event("loop_blocked", START + 1), event("loop_blocked", START + 1, "shop-2"))
    found = await api("process", service="shop", instance="shop-1", from_=START + 1)
    assert [each["name"] for each in found["meters"]] == ["swagent_tasks"]
    assert found["meters"][0]["series"][0]["points"] == [[START + 1, 1.0], [START + 2, 2.0]]
    assert [(each["name"], each["instance"]) for each in found["events"]] == [("loop_blocked", "shop-1")]
    assert (await api("process", 400, service="shop"))["error"] == "instance: is missing"


@pytest.mark.parametrize(
    ("reports", "since", "until", "expected"),
    [
        ("kept", 25, 30, [(4, 20, 40)]),
        ("kept", 40, 50, []),
        ("kept", 0, 60, [(4, 0, 60)]),
        ("kept", 70, 80, []),  # nothing is known of that yet
        ("kept", 30, 80, [(4, 20, 60)]),
        ("began anew", 5, 6, [(2, 0, 20)]),
        ("the first", 0, 6, [(2, None, 20)]),
    ],
)
async def test_losses_lie_between_two_reports(
    api: Api, reports: str, since: int, until: int, expected: list[tuple[int, int | None, int]]
) -> None:
    totals = {"kept": {0: 5, 20: 5, 40: 9, 60: 9}, "began anew": {0: 50, 20: 2}, "the first": {20: 2}}[reports]
    api.add(*(total("dropped", "evicted", step, value) for step, value in totals.items()))
    if reports == "kept":
        api.add(*(offered(step, 100) for step in totals))
    found = (await api("losses", from_=START + since, to=START + until))["losses"]
    times = [(each["from"] and each["from"] - START, each["to"] - START) for each in found]
    assert [(each["count"], *time) for each, time in zip(found, times, strict=True)] == expected


async def test_a_reason_that_is_new_had_no_loss_before(api: Api) -> None:
    api.add(offered(0, 1), total("refused", "full", 20, 3))
    [found] = (await api("losses", from_=START + 5, to=START + 6))["losses"]
    assert found == {
        "service": "shop", "instance": "shop-1", "signal": "segment", "kind": "refused", "reason": "full", "count": 3,
        "from": START, "to": START + 20,
    }  # fmt: skip


async def test_one_log_line_by_its_id(api: Api) -> None:
    api.add(*map(line, range(3)))
    known = (await api("logs"))["logs"][1]
    found = await api(f"logs/{known['id']}")
    assert {**found, "version": 0} == {**known, "version": 0}
    for unknown in ("99", "-1", "x", "²", "9" * 30):
        await api(f"logs/{unknown}", 404)
