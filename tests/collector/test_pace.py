"""Long answers: the intake's loop turns while they are made, and what comes or goes meanwhile does not disturb them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from collector.served import line, shop_and_stock
from swagent.collector import pace
from swagent.collector.api import (
    calls as calls_query,
)
from swagent.collector.api import (
    compare as compare_query,
)
from swagent.collector.api import (
    errors as errors_query,
)
from swagent.collector.api import (
    instances as instances_query,
)
from swagent.collector.api import (
    logs as logs_query,
)
from swagent.collector.api import (
    meters as meters_query,
)
from swagent.collector.api import (
    trace as trace_query,
)
from swagent.collector.api import (
    traces as traces_query,
)
from swagent.collector.api.failure_index import FailureIndex
from swagent.collector.store.records import Event, Meter
from swagent.collector.store.store import Store

pytestmark = pytest.mark.anyio
COUNT = 40
Query = Callable[[Store], Awaitable[Any]]
QUERIES: dict[str, Query] = {
    "services": calls_query.services,
    "endpoints": lambda store: calls_query.endpoints(store, "shop"),
    "map": calls_query.service_map,
    "errors": lambda store: errors_query.errors(store, FailureIndex(store), {}, "count"),
    "compared": lambda store: compare_query.compare(store, 0, {}),
    "median": lambda store: compare_query.median(store, "shop", "/orders", ""),
    "traces": lambda store: traces_query.traces(store, {}, "slowest", 1000, ""),
    "traces of a service": lambda store: traces_query.traces(store, {"service": "shop"}, "slowest", 10, ""),
    "traces with a text": lambda store: traces_query.traces(store, {"q": "lamp"}, "newest", 10, ""),
    "one trace": lambda store: trace_query.trace(store, "trace-1"),
    "logs": lambda store: logs_query.logs(store, {}, 1000, ""),
    "events": lambda store: instances_query.events(store, ""),
    "series": lambda store: meters_query.series(store, "shop", "i1", "h", 0),
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_FIRST", 2)
    monkeypatch.setattr(pace, "_MOST", 2)
    monkeypatch.setattr(pace, "BREATH", 0.0)


def fill(store: Store, first: int = 0) -> None:
    for number in range(first, first + COUNT):
        for segment in shop_and_stock(number, error=number % 4 == 1):
            store.add(segment)
        store.add(line(number))
        store.add(Event(f"u{number}", "shop", "i1", "", "Start", "Normal", "", {}, number, 0, ""))
        store.add(Meter("shop", "i1", "h", (), number, None, ((0.0, number), (10.0, number))))
    store.commit()


@pytest.fixture(params=QUERIES)
def query(request: pytest.FixtureRequest) -> Query:
    return QUERIES[request.param]


async def beside(query: Query, store: Store, change: Callable[[int], None]) -> tuple[Any, int]:
    """The answer, and how often the loop turned while it was made: each time something changes."""
    turns = 0
    answers: list[Any] = []

    async def ask() -> None:
        answers.append(await query(store))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        while not answers:
            change(turns)
            turns += 1
            await anyio.lowlevel.checkpoint()
    return answers[0], turns


async def test_the_loop_turns(query: Query) -> None:
    store = Store()
    fill(store)
    answer, turns = await beside(query, store, lambda _: None)
    assert answer
    assert turns > (2 if query is QUERIES["one trace"] else COUNT // 2)


async def test_what_comes_meanwhile_is_in_the_next_answer(query: Query) -> None:
    store = Store()
    fill(store)
    before = await query(store)

    def grow(turn: int) -> None:
        if turn == 3:
            fill(store, COUNT)

    answer, _ = await beside(query, store, grow)
    if isinstance(answer.get("services"), list) and query is not QUERIES["one trace"]:
        for each in (*before["services"], *answer["services"]):
            del each["last_seen"]  # an instance was heard from meanwhile
    assert answer == before
    assert (await query(store)) != before


async def test_what_falls_out_meanwhile_is_left_out(query: Query) -> None:
    store = Store(2 * COUNT, COUNT)
    fill(store)

    def shift(turn: int) -> None:
        if turn % 5 == 3:
            fill(store, COUNT * (turn + 1))

    assert await beside(query, store, shift)


async def test_pieces_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """They grow while they are short, and shrink when they take long."""
    monkeypatch.undo()
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    measured = pace.Pace()
    sizes: list[int] = []
    for took in (0.001, 0.001, 0.005, 0.1, 0.1):
        now += took
        await measured.step()
        sizes.append(measured.size)
    assert sizes == [500, 1000, 1000, 500, 250]
    for _ in range(20):
        now += 1.0
        await measured.step()
    assert measured.size == 1
