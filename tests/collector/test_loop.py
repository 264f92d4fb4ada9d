"""The trace that held a loop, and the traces that waited for it: found from either side."""

from __future__ import annotations

from typing import Any

import pytest

from collector.served import START, Api, shop_and_stock
from swagent.collector.api import loop
from swagent.collector.store.trace_records import Segment, Span, SpanLog

pytestmark = pytest.mark.anyio


def request(name: str, start: int, end: int, *spans: Span, instance: str = "shop-1", **tags: str) -> Segment:
    """A request of one process; `tags` are those of its entry span, with a point for each underscore."""
    pairs = tuple((key.replace("_", "."), value) for key, value in tags.items())
    head = Span(0, -1, START + start, START + end, f"GET:/{name}", "", "Entry", "Http", 7014, tags=pairs)
    return Segment(f"trace-{name}", name, "shop", instance, (*spans, head))


def blocker(start: int = 0, took: int = 300) -> Segment:
    at = START + start
    log = SpanLog(at + 101, (("event", "loop.blocked"), ("frame", "app.py:4 report"), ("stack", "...")))
    held = Span(1, 0, at + 1, at + took, "report", tags=(("loop.blocked", str(took - 5)), ("a", "b")), logs=(log,))
    return request("blocker", start, start + took + 1, held)


async def found(api: Api, name: str) -> list[dict[str, Any]]:
    answer = await api("loop", trace_id=f"trace-{name}")
    assert answer["left_out"] == 0
    spans: list[dict[str, Any]] = answer["spans"]
    return spans


async def test_the_victims_of_a_blocker(api: Api) -> None:
    api.add(
        blocker(),
        request("victim", 50, 340, loop_waited="250"),
        request("newcomer", 310, 315, loop_waited="120"),
        request("elsewhere", 50, 340, instance="shop-2", loop_waited="250"),
        request("later", 5000, 5300, loop_waited="250"),
        request("unharmed", 50, 340),
        *shop_and_stock(0),
    )
    spans = await found(api, "blocker")
    assert {each["trace_id"] for each in spans} == {"trace-victim", "trace-newcomer"}
    (victim,) = [each for each in spans if each["trace_id"] == "trace-victim"]
    assert victim == {
        "trace_id": "trace-victim", "id": "victim:0", "service": "shop", "instance": "shop-1",
        "operation": "GET:/victim", "start": START + 50, "end": START + 340, "tags": [["loop.waited", "250"]],
        "logs": [],
    }  # fmt: skip


@pytest.mark.parametrize(("start", "end"), [(50, 340), (305, 307)])
async def test_the_blocker_of_a_victim(api: Api, start: int, end: int) -> None:
    """Also of one that the application saw when the loop turned again."""
    api.add(blocker(), request("victim", start, end, loop_waited="250"))
    (span,) = await found(api, "victim")
    assert (span["trace_id"], span["id"], span["operation"]) == ("trace-blocker", "blocker:1", "report")
    assert span["tags"] == [["loop.blocked", "295"]]
    (log,) = span["logs"]
    assert log["fields"] == [["event", "loop.blocked"], ["frame", "app.py:4 report"], ["stack", "..."]]


async def test_a_trace_that_had_nothing_to_do_with_it_has_no_neighbours(api: Api) -> None:
    api.add(blocker(), request("other", 50, 340))
    assert await found(api, "other") == await found(api, "unknown") == []
    assert await api("loop", status=400) == {"error": "trace_id: is missing"}


async def test_very_many_victims_are_limited_and_counted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.add(blocker(), *(request(f"victim-{number}", 50, 340, loop_waited="250") for number in range(10)))
    assert len(await found(api, "blocker")) == 10
    monkeypatch.setattr(loop, "MOST", 3)
    answer = await api("loop", trace_id="trace-blocker")
    assert [each["trace_id"] for each in answer["spans"]] == [f"trace-victim-{number}" for number in (9, 8, 7)]
    assert answer["left_out"] == 7
