"""Where most of a trace's time went, in a row of the list."""

from __future__ import annotations

from itertools import accumulate, repeat
from typing import get_args

import pytest
from typing_extensions import get_type_hints

from collector.made_traces import Did, Request, call, held, made, store_of
from collector.test_findings_of_a_trace import payment
from swagent.collector.api import models
from swagent.collector.api.mostly import MOST_SPANS, MostlyIndex
from swagent.collector.api.newest import NewestTraces
from swagent.collector.api.traces import traces
from swagent.collector.findings.causes import CauseKind
from swagent.collector.findings.joining import joined
from swagent.collector.findings.mostly import mostly

SPLIT = {"time.running": "4", "time.ready": "0", "time.awaiting": "296", "time.awaited": '[["asyncio.sleep",296]]'}
FRAME = "/app/shop/report.py:18 print_report"


@pytest.mark.parametrize(
    ("request_", "kind", "text"),
    [
        (payment(3170, 160), "call", "payments → ledger-db:5432"),
        (Request("shop", "GET:/x", 0, 300, tags={"time.running": "300"}), "own", "own code"),
        (Request("shop", "GET:/x", 0, 300), "unsplit", "own code or a wait"),
        (Request("shop", "GET:/x", 0, 300, [call(Request("stock", "GET:/y", 2, 290))]), "unsplit",
         "own code or a wait of stock"),
        (Request("shop", "GET:/x", 0, 300, tags=SPLIT), "wait", "awaited asyncio.sleep"),
        (Request("shop", "GET:/x", 0, 300, tags={"loop.blocked": "280"}, logs=held(FRAME, 110)), "holding",
         "blocked loop"),
        (Request("shop", "GET:/x", 0, 300, tags={"time.running": "20", "time.ready": "280"}), "busy", "busy loop"),
        (Request("shop", "GET:/x", 0, 300, [Did("GET", 1, 280, "redis:1")], tags={"loop.waited": "270"}), "held",
         "blocked loop"),
    ],
)  # fmt: skip
def test_the_cause_that_had_most_is_named(request_: Request, kind: str, text: str) -> None:
    trace = joined(made(request_))
    assert trace is not None
    assert (found := mostly(trace)) is not None
    assert (found.kind, found.text) == (kind, text)
    assert 0.8 < found.share <= 1


def test_the_page_knows_every_kind() -> None:
    assert get_args(get_type_hints(models.Mostly)["kind"]) == get_args(CauseKind)


def test_a_trace_without_a_length_has_none() -> None:
    trace = joined(made(Request("shop", "GET:/x", 5, 5)))
    assert trace is not None
    assert mostly(trace) is None


def test_what_is_known_is_kept_until_more_of_the_trace_arrives() -> None:
    inner, outer = made(payment(3170, 160), trace="t")
    store = store_of([outer])
    index = MostlyIndex(store)
    assert index.of(["t"])["t"] == {"kind": "call", "text": "shop → payments:80", "share": 0.9517}
    store.add(inner)
    assert index.of(["t"])["t"] == {"kind": "call", "text": "payments → ledger-db:5432", "share": 0.9505}
    exhausted = MostlyIndex(store, clock=iter([0.0, 9.0]).__next__)
    assert exhausted.of(["t"]) == {}
    assert index.of(["none"]) == {}


def test_a_page_says_whether_there_is_more_to_know() -> None:
    store = store_of(*(made(payment(), trace=f"t{number}") for number in range(3)))
    index, newest = MostlyIndex(store, accumulate(repeat(0.02)).__next__), NewestTraces(store)
    pages = [traces(store, newest, index, {}, "newest", 50, "") for _ in range(3)]
    assert [sum(each["mostly"] is not None for each in page["traces"]) for page in pages] == [1, 2, 3]
    assert [page["is_complete"] for page in pages] == [False, False, True]


def test_a_large_trace_is_not_looked_at() -> None:
    asked = [Did("SELECT", number, number + 1, "db:1") for number in range(MOST_SPANS)]
    store = store_of(made(Request("shop", "GET:/x", 0, 9000, asked), trace="large"))
    assert MostlyIndex(store).of(["large"]) == {"large": None}
