"""How long operations take usually: read once for many questions, and anew once it is old."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from collector.made_traces import Request, made, store_of
from collector.served import noted_reads
from collector.test_findings_of_a_trace import payment
from swagent.collector.api.parameters import Parameters
from swagent.collector.api.queries import queries
from swagent.collector.findings import baselines
from swagent.collector.findings.baselines import SECONDS, Baselines
from swagent.collector.findings.durations import Operation
from swagent.collector.store.store import Store

GET = Operation("entry", "shop", "GET:/x", "")


class Counted(Baselines):
    """Baselines with a clock that a test turns; counts what is read for them."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(store, lambda: self.now)
        self.now = 0.0
        self.reads = reads_of(store, monkeypatch)

    def durations(self, *own: int) -> tuple[int, int] | None:
        return self.usual([GET], own).get(GET)


def reads_of(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The queries for baselines from now on: those that take calls of some operations from many segments."""
    return noted_reads(store, monkeypatch, "FROM calls", "endpoint IN")


def add(store: Store, durations: Sequence[int]) -> None:
    for each in durations:
        for segment in made(Request("shop", "GET:/x", 0, each)):
            store.add(segment)


def filled(*durations: int) -> Store:
    store = Store()
    add(store, durations)
    return store


def test_one_trace_after_the_other_is_answered_by_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(*(made(payment(), each * 100, f"t{each}") for each in range(40)))
    reads = reads_of(store, monkeypatch)
    answers = queries(store)

    def ask(path: str, **parts: str) -> None:
        assert answers[path](Parameters(parts, {})) is not None

    for trace in ("t3", "t4", "t5", "t3"):
        ask("/api/traces/{trace:path}/findings", trace=trace)
    assert len(reads) == 1
    for _ in range(3):
        ask("/api/findings")
    of_findings = len(reads) - 1
    assert 1 <= of_findings <= 50  # windows, of one reading
    for segment in made(payment(), 9000):  # the store has changed, but little
        store.add(segment)
    ask("/api/findings")
    ask("/api/traces/{trace:path}/findings", trace="t6")
    assert len(reads) == 1 + of_findings


def test_it_is_read_anew_after_some_seconds_once_the_store_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(*[10] * 20)
    counted = Counted(store, monkeypatch)
    assert counted.durations() == (10, 20)
    counted.now = 1000 * SECONDS
    assert counted.durations() == (10, 20)
    assert len(counted.reads) == 1
    add(store, [30])
    assert counted.durations() == (10, 21)  # it was long ago
    add(store, [30])
    counted.now += SECONDS - 0.1
    assert counted.durations() == (10, 21)
    counted.now += 0.1
    assert counted.durations() == (10, 22)
    assert len(counted.reads) == 3


def test_the_calls_of_the_trace_itself_do_not_count_though_it_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(*[10] * 15, *[30] * 16)
    counted = Counted(store, monkeypatch)
    assert counted.durations() == (30, 31)
    assert counted.durations(31) == (10, 30)
    assert counted.durations(30, 31) == (10, 29)
    add(store, [30])
    assert counted.durations(32) == (30, 31)  # it is not in what was read
    counted.now += SECONDS
    assert counted.durations(32) == (30, 31)
    assert counted.durations() == (30, 32)
    assert counted.durations(*range(2, 33)) is None


@pytest.mark.parametrize(("bound", "most"), [("MOST_KEPT", 2), ("MOST_LENGTHS", 4)])
def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch, bound: str, most: int) -> None:
    monkeypatch.setattr(baselines, bound, most)
    operations = [Operation("entry", "shop", f"GET:/{number}", "") for number in range(4)]
    traces = (made(Request("shop", each.operation, 0, took)) for took in (10, 20) for each in operations)
    counted = Counted(store_of(*traces), monkeypatch)
    for each in operations:
        assert counted.usual([each]) == {each: (10, 2)}
    assert len(counted.reads) == 4
    for each in reversed(operations):
        counted.usual([each])
    assert len(counted.reads) == 6
    assert set(counted.usual(operations)) == set(operations)
    assert set(counted.usual(operations)) == set(operations)
    assert len(counted.reads) == 8
