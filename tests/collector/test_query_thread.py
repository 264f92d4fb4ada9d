"""Queries in a thread: the intake goes on beside them, and what comes or goes meanwhile does not disturb them."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
import pytest

from collector.served import channel_to, line, serving, shop_and_stock
from swagent.collector.api import logs as logs_query
from swagent.collector.api import pieces
from swagent.collector.api.parameters import Parameters
from swagent.collector.api.queries import queries
from swagent.collector.api.query_thread import QueryThread
from swagent.collector.cancelling import stop_if_cancelled
from swagent.collector.server import Collector
from swagent.collector.store.records import Event, Meter
from swagent.collector.store.store import Store
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio
COUNT = 40
QUERIES = [
    "services",
    "services/{service:path}/endpoints",
    "map",
    "errors?sort=count",
    "compare?at=0",
    "median?service=shop&endpoint=/orders",
    "traces?sort=slowest&limit=1000",
    "traces?sort=slowest&limit=10&service=shop",
    "traces?q=lamp&limit=10",
    "traces/{trace:path}",
    "logs?limit=1000",
    "events",
    "meters/series?service=shop&instance=i1&name=h",
]


def answer_to(query: str, store: Store) -> Any:
    path, _, asked = query.partition("?")
    return queries(store)[f"/api/{path}"](Parameters({"service": "shop", "trace": "trace-1"}, dict(parse_qsl(asked))))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_FIRST", 2)
    monkeypatch.setattr(pieces, "_MOST", 2)


def fill(store: Store, first: int = 0) -> None:
    for number in range(first, first + COUNT):
        for segment in shop_and_stock(number, error=number % 4 == 1):
            store.add(segment)
        store.add(line(number))
        store.add(Event(f"u{number}", "shop", "i1", "", "Start", "Normal", "", {}, number, 0, ""))
        store.add(Meter("shop", "i1", "h", (), number, None, ((0.0, number), (10.0, number))))
    store.commit()


def change_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch, change: Callable[[int], None]) -> None:
    """Have `change(number)` called before each read of the store, numbered from 0."""
    read, numbers, is_changing = store.read, itertools.count(), False

    def read_later(query: str, values: Any = ()) -> Any:
        nonlocal is_changing
        if not is_changing:
            is_changing = True
            change(next(numbers))
            is_changing = False
        return read(query, values)

    monkeypatch.setattr(store, "read", read_later)


@pytest.mark.parametrize("query", QUERIES)
def test_a_record_that_comes_meanwhile_is_in_the_next_answer(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    fill(store)
    before = answer_to(query, store)
    changes: list[int] = []

    def grow(number: int) -> None:
        if number == 2 and not changes:
            changes.append(number)
            fill(store, COUNT)

    with monkeypatch.context() as patched:
        change_meanwhile(store, patched, grow)
        answer = answer_to(query, store)
    if not changes:  # one read is the whole answer
        assert query.startswith(("events", "meters/series"))
        fill(store, COUNT)
    if isinstance(answer.get("services"), list) and not query.startswith("traces/"):
        for each in (*before["services"], *answer["services"]):
            del each["last_seen"]  # an instance was heard from meanwhile
    assert answer == before
    assert answer_to(query, store) != before


@pytest.mark.gate
@pytest.mark.parametrize("query", QUERIES)
def test_a_record_that_falls_out_meanwhile_is_left_out(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(2 * COUNT, COUNT)
    fill(store)

    def shift(number: int) -> None:
        if number % 5 == 3:
            fill(store, COUNT * (number + 1))

    change_meanwhile(store, monkeypatch, shift)
    assert answer_to(query, store)


async def send(collector: Collector, segment_id: str) -> None:
    """Report a segment, and wait until the collector has confirmed it."""
    async with channel_to(collector) as channel:
        await wire.TraceSegmentReportServiceStub(channel).collect_in_sync(
            wire.SegmentCollection([wire.SegmentObject("t", segment_id)]), timeout=20
        )


@pytest.mark.parametrize("query", QUERIES)
async def test_reports_are_confirmed_between_two_reads_of_a_query(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    fill(store)
    reads, is_over = threading.Event(), threading.Event()

    def wait_once(number: int) -> None:
        if not number:
            reads.set()
            assert is_over.wait(20)

    async with Collector(store=store) as collector:
        with monkeypatch.context() as patched:
            change_meanwhile(store, patched, wait_once)
            async with anyio.create_task_group() as group:
                group.start_soon(QueryThread().run, lambda: answer_to(query, store))
                try:
                    assert await anyio.to_thread.run_sync(reads.wait, 20)
                    await send(collector, "meanwhile")
                finally:
                    is_over.set()
    assert "meanwhile" in {each.segment_id for each in store.segments}


def test_records_are_taken_while_the_database_is_read() -> None:
    """Records wait in memory. So a report waits for a query once, when it is written, and not for each record."""
    store, is_read, is_over = Store(), threading.Event(), threading.Event()

    def wait() -> int:
        is_read.set()
        return is_over.wait(20)

    store._database._connection.create_function("wait", 0, wait)
    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.extend(store.read("SELECT wait()")))
    reading.start()
    assert is_read.wait(20)
    for segment in shop_and_stock(1):
        store.add(segment)
    assert store.seen().keys() == {("shop", "shop-1"), ("stock", "stock-1")}
    is_over.set()
    reading.join(20)
    assert found == [(1,)]
    assert len(store.segments) == 2


async def test_a_query_that_reads_without_a_pause_lets_reports_in() -> None:
    """The database is given in turn: a report waits for one read, and not for the query."""
    store, is_over = Store(), threading.Event()
    fill(store)

    def read_all_the_time() -> None:
        while not is_over.is_set():
            store.read("SELECT count(*) FROM calls a CROSS JOIN calls b")

    async with Collector(store=store) as collector, anyio.create_task_group() as group:
        group.start_soon(QueryThread().run, read_all_the_time)
        try:
            for number in range(10):
                await send(collector, f"report-{number}")
        finally:
            is_over.set()
    assert store.statistics().received["segments"] == 2 * COUNT + 10


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
class TestQueryThread:
    async def test_one_query_at_a_time(self) -> None:
        thread, running = QueryThread(), list[int]()

        def query() -> None:
            running.append(1)
            assert running == [1]
            time.sleep(0)
            assert running == [1]
            running.clear()

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(thread.run, query)

    async def test_a_query_that_was_cancelled_ends_at_its_next_look(self) -> None:
        thread, has_begun = QueryThread(), threading.Event()

        def query() -> None:
            has_begun.set()
            while True:
                stop_if_cancelled()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(thread.run, query)
                await anyio.to_thread.run_sync(has_begun.wait, 20)
                group.cancel_scope.cancel()
            assert await thread.run(lambda: "the next one") == "the next one"

    async def test_a_query_that_was_cancelled_before_its_turn_does_not_run(self) -> None:
        thread, ran = QueryThread(), list[int]()
        first = threading.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(thread.run, first.wait)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0):
                await thread.run(lambda: ran.append(1))
            first.set()
        assert ran == []


async def test_a_query_ends_when_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, ended = threading.Event(), list[BaseException]()

    def query(*_: Any) -> Any:
        has_begun.set()
        try:
            while True:
                stop_if_cancelled()
        except BaseException as error:
            ended.append(error)
            raise

    monkeypatch.setattr(logs_query, "log", query)
    async with serving() as (collector, client):
        host, port = collector.page_address.rsplit(":", 1)
        stream = await anyio.connect_tcp(host, int(port))
        await stream.send(f"GET /api/logs/1 HTTP/1.1\r\nhost: {collector.page_address}\r\n\r\n".encode())
        await anyio.to_thread.run_sync(has_begun.wait, 20)
        assert (await client.get("/api/status")).status_code == 200, "the status does not wait for a query"
        await stream.aclose()
        assert (await client.get("/api/events")).status_code == 200, "the next query waits until this one has ended"
        assert [type(each) for each in ended] == [anyio.get_cancelled_exc_class()]


@pytest.mark.gate
async def test_the_stop_ends_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun = threading.Event()

    def query(*_: Any) -> Any:
        has_begun.set()
        while True:
            stop_if_cancelled()

    monkeypatch.setattr(logs_query, "log", query)
    answers: list[int] = []
    async with serving() as (collector, client):

        async def ask() -> None:
            answers.append((await client.get("/api/logs/1")).status_code)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.to_thread.run_sync(has_begun.wait, 20)
            with anyio.fail_after(20):
                await collector.stop()
    assert answers == [503]


def test_pieces_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """They grow while they are short, and shrink when they take long."""
    monkeypatch.undo()
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    measured = pieces.PieceSize()
    sizes: list[int] = []
    for took in (0.001, 0.001, 0.005, 0.1, 0.1):
        measured.begin()
        now += took
        measured.end()
        sizes.append(measured.rows)
    assert sizes == [500, 1000, 1000, 500, 250]
    for _ in range(20):
        measured.begin()
        now += 1.0
        measured.end()
    assert measured.rows == 1
