"""The newest traces, found without a look at all: the same as by that look, whatever order the segments came in."""

from __future__ import annotations

import random
from typing import Any

import pytest

from collector.served import START, noted_reads
from swagent.collector.api import newest as newest_module
from swagent.collector.api.mostly import MostlyIndex
from swagent.collector.api.newest import NewestTraces
from swagent.collector.api.traces import traces
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment, Span

LIMIT = 3


def _segment(number: int, start: int) -> Segment:
    span = Span(0, -1, start, start + 5, "GET:/x", "", "Entry", "Http")
    return Segment(f"trace-{number}", f"segment-{number}", "shop", "shop-1", (span,))


def _ids(store: Store, newest: NewestTraces, **filters: Any) -> list[str]:
    found = traces(store, newest, MostlyIndex(store), filters, "newest", LIMIT, "")
    return [each["trace_id"] for each in found["traces"]]


@pytest.fixture(autouse=True)
def few_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of the last segments are looked through, so that most traces are among the others."""
    monkeypatch.setattr(newest_module, "_SEGMENTS", (1, 2))


@pytest.mark.parametrize("seed", range(20))
def test_they_are_those_that_began_last(seed: int) -> None:
    draw = random.Random(seed)
    store = Store(max_segments=60)
    newest = NewestTraces(store)
    for number in range(200):
        # some clocks are wrong by more than all that is kept
        start = START + number * 10 + (draw.choice([-5000, 5000]) if draw.random() < 0.05 else draw.randrange(200))
        store.add(_segment(number, start))
        if draw.random() < 0.3:
            assert _ids(store, newest) == _ids(store, newest, min_ms=0)


def test_the_others_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    newest = NewestTraces(store)
    for number in range(100):
        store.add(_segment(number, START + number))
    queries = noted_reads(store, monkeypatch)
    assert traces(store, newest, MostlyIndex(store), {}, "newest", LIMIT, "")["total"] == 100
    assert sum("count(DISTINCT trace)" in query for query, _ in queries) == 1
    assert [values for query, values in queries if query.startswith("SELECT max(start)")] == [(96, 96)]
    queries.clear()
    store.add(_segment(100, START + 100))
    assert _ids(store, newest) == ["trace-100", "trace-99", "trace-98"]
    ((above, up_to),) = [values for query, values in queries if "max(start)" in query]
    assert up_to - above == 1
