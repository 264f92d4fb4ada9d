"""The language in which traces are looked for, and what is counted of those that match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from collector.made_traces import store_of
from collector.served import START, Api
from swagent.collector.api.differences import sure_difference
from swagent.collector.api.heatmap import count_cells
from swagent.collector.api.query import Term, Value, parse, quote
from swagent.collector.store import database
from swagent.collector.store.segment_index import index, index_bytes
from swagent.collector.store.store import Store
from swagent.collector.store.tag_text import CUT, LONGEST, MOST
from swagent.collector.store.trace_records import Reference, Segment, Span, SpanLog
from swagent.collector.store.trace_translation import message_of

pytestmark = pytest.mark.anyio
STATEMENT = "SELECT " + ", ".join(f"column_{number}" for number in range(60)) + " FROM Stock WHERE item = 7"


def _segments(number: int) -> list[Segment]:
    """A request that the gateway has the tenant of, and the stock the build: in different segments."""
    start, name, took = START + number * 1000, f"trace-{number}", 100 * (number + 1)
    failed = number == 3
    error = (("event", "error"), ("error.kind", "stock.errors.OutOfStock"), ("message", "no lamps left"))
    logs = (SpanLog(start, error),) if failed else ()
    tags = (("tenant", "globex" if number % 2 else "acme"), ("http.status_code", "503" if failed else "200"))
    reference = Reference("CrossProcess", name, f"{name}.a", 1, "gateway", "gateway-1", "GET:/items", "stock:80")
    gateway = (
        Span(1, 0, start, start + took, "/items", "stock:80", "Exit", "Http"),
        Span(0, -1, start, start + took, "GET:/items", "10.1.1.1:5", "Entry", "Http", tags=tags),
    )
    stock = (
        Span(1, 0, start, start + 5, "PostgreSQL/query", "db:5432", "Exit", tags=(("db.statement", STATEMENT),)),
        Span(
            *(0, -1, start, start + took, "GET:/stock/{item}", "", "Entry", "Http", 0, failed),
            (("build", f"1.4.{number}"), ("rows", str(number)), ("rows", "many"), ("a key", 'say "hi" *')),
            logs,
            (reference,),
        ),
    )
    return [
        Segment(name, f"{name}.a", "gateway", "gateway-1", gateway),
        Segment(name, f"{name}.b", "stock", "stock-1", stock),
    ]


ALL = list(range(6))


@pytest.fixture
def api(api: Api) -> Api:
    api.add(*(segment for number in ALL for segment in _segments(number)))
    return api


FOUND: dict[tuple[int, ...], list[str]] = {
    (1, 3, 5): ["tenant=globex", "tenant=glo*", "GLOBEX"],
    # 1.4.0 is no number; who calls is no peer that was called
    (): [
        "tenant=glob", "tenant=globexx", "tenant=Globex", 'tenant="glo*"', "nothing=*", "tenant=acme build=1.4.5",
        "build>1", "service:sto", "endpoint:/stock", "peer:10.1.1.1:5", "error:Stock", "race-4",
        f'db.statement="{STATEMENT}8"', "%", "1_4",
    ],
    # column_59 is beyond what is kept beside the segment
    tuple(ALL): [
        "tenant=*", "nothing!=globex", "nothing!=*", "rows=many", "service:stock", "service:sto*",
        "instance:gateway-1", "endpoint:/items", "endpoint:GET:/stock/{item}", "endpoint:*stock*", "peer:db",
        "peer:db:5432", "gateway-1", "postgresql/query", '"a key"="say \\"hi\\" *"', "column_59",
        f'db.statement="{STATEMENT}"', "db.statement=SELECT*",
    ],
    (0, 2, 4): ["tenant!=globex"],
    # of two segments of one trace
    (5,): ["tenant=globex build=1.4.5"],
    (4, 5): ["rows>3", "dur>0.4s"],
    (3, 4): ["rows>=3 rows<5", "dur>=400 dur<=500ms"],
    (0,): ["rows<0.5"],
    (0, 1): ["rows<=1e0"],
    (3,): [
        "status>=500", "status=5*", "error:OutOfStock", "error:stock.errors.OutOfStock", "error:*", "outof",
        '"no LAMPS left"',
    ],
    (1, 5): ["status=200 tenant=globex"],
    (1,): ["dur!=100ms dur<300"],
    (4,): ["trace-4", "trace-4.b"],
}  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), [(query, expected) for expected in FOUND for query in FOUND[expected]])
async def test_all_terms_hold(api: Api, query: str, expected: Sequence[int]) -> None:
    found = await api("traces", q=query)
    assert sorted(trace["trace_id"] for trace in found["traces"]) == [f"trace-{number}" for number in expected]
    assert found["total"] == len(expected)


async def test_terms_and_filters_combine(api: Api) -> None:
    found = await api("traces", q="tenant=globex", min_ms=300, service="stock", sort="slowest", limit=1)
    assert [trace["trace_id"] for trace in found["traces"]] == ["trace-5"]
    assert found["total"] == 2
    after = await api("traces", q="tenant=globex", min_ms=300, service="stock", sort="slowest", cursor=found["next"])
    assert [trace["trace_id"] for trace in after["traces"]] == ["trace-3"]


@pytest.mark.parametrize(
    ("query", "place", "way_out"),
    [
        ('a "b', 3, 'write \\" for the mark itself'),
        ("a tenant=", 10, "write tenant=VALUE"),
        ("=globex", 1, "put it in quotes"),
        ("tenant>globex", 1, "takes a number"),
        ("rows>nan", 1, "takes a number"),
        ("a duration>=3s", 3, "write dur>=3s"),
        ("service=shop", 1, 'write service:shop; for a tag of that name "service"=shop'),
        ("x dur>fast", 3, "250ms, 1.5s or 2min"),
        ("service:", 1, "write service:NAME"),
        ("a " * 31, 61, "leave some out"),
    ],
)
async def test_a_query_that_cannot_be_read_is_reported_with_its_place(
    api: Api, query: str, place: int, way_out: str
) -> None:
    for path in ("traces", "heatmap", "differences"):
        error = (await api(path, 400, q=query))["error"]
        assert error.startswith(f"q, at character {place}: ")
        assert way_out in error


def test_words_with_signs_that_are_no_terms_are_texts() -> None:
    for word in ("GET:/items", "http://shop/x?a=b", "1.4.2", "{item}"):
        assert parse(word) == [Term("text", Value((word,)))]
    assert parse(' "two words"  three ') == [Term("text", Value(("two words",))), Term("text", Value(("three",)))]
    assert parse("   ") == []


@pytest.mark.parametrize("value", ["plain", "two words", 'a "quote"', "back\\slash", "a*b", "", "tab\there", "\\", '"'])
def test_a_value_in_quotes_is_read_as_it_was(value: str) -> None:
    (term,) = parse(f"key={quote(value)}")
    assert term == Term("tag", Value((value,)), "key")


async def test_keys_and_values_that_were_seen(api: Api) -> None:
    keys = {each["key"]: each["count"] for each in (await api("tags"))["keys"]}
    # a value that comes twice in a segment counts twice
    assert keys == {"tenant": 6, "http.status_code": 6, "db.statement": 6, "build": 6, "rows": 12, "a key": 6}
    values = (await api("tags/http.status_code"))["values"]
    assert [(each["value"], each["count"]) for each in values] == [("200", 5), ("503", 1)]
    for key in ("endpoint:", "service:", "instance:", "peer:", "error:", "status", "a key", "db.statement"):
        for each in (await api(f"tags/{key}"))["values"]:
            found = await api("traces", q=each["term"])
            assert found["total"] == (each["count"] if key in ("status", "error:") else 6), each
    assert [each["value"] for each in (await api("tags/endpoint:", part="STOCK"))["values"]] == ["GET:/stock/{item}"]
    assert (await api("tags/nothing"))["values"] == []


async def test_no_segment_is_read_for_a_text_that_its_index_has_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def contains(body: object, needle: bytes) -> bool:
        read.append(body)
        return isinstance(body, bytes) and needle in body.lower()

    monkeypatch.setattr(database, "_contains", contains)
    api = Api(store_of(*map(_segments, range(10))))
    assert (await api("traces", q="globex"))["total"] == 5
    assert len(read) == 10  # those of the stock, whose statement is cut
    assert (await api("traces", q="tenant=globex"))["total"] == 5
    assert len(read) == 10


async def test_the_index_falls_out_with_its_segments() -> None:
    few = Api(Store(max_segments=2))
    few.add(*(segment for number in ALL for segment in _segments(number)))
    assert [each["value"] for each in (await few("tags/build"))["values"]] == ["1.4.5"]


async def test_the_heatmap_counts_all_that_match(api: Api) -> None:
    found = await api("heatmap", q="tenant=globex")
    assert (found["total"], sum(count for _, _, count, _ in found["cells"])) == (3, 3)
    assert sum(failed for *_, failed in found["cells"]) == 0, "the gateway went on without an answer"
    for column, row, _, _ in found["cells"]:
        begin = found["begin"] + column * found["step"]
        box = {"from": begin, "to": begin + found["step"] - 1}
        box |= {"min_ms": found["edges"][row], "max_ms": found["edges"][row + 1] - 1}
        assert (await api("traces", q="tenant=globex", **box))["total"] >= 1
    assert (await api("heatmap", q="nothing=*"))["cells"] == []


@pytest.mark.parametrize(
    "times", [[0], [1], [0, 10**7], [9, 10], [999, 1000, 1001], [10**15], [5] * 3, list(range(0, 400, 7)), [2**62]]
)
def test_each_duration_has_a_row(times: list[int]) -> None:
    found = count_cells([(START, took, False) for took in times])
    edges = found["edges"]
    assert edges == sorted(set(edges))
    assert 2 <= len(edges) <= 62
    assert edges[0] <= max(min(times), 1)
    assert edges[-1] > max(times)
    for took in times:
        assert any(edges[row] <= max(took, 1) < edges[row + 1] for _, row, _, _ in found["cells"])


@pytest.mark.parametrize("reach", [0, 1, 89, 90, 60_000, 3_600_000, 86_400_000 * 200, 2**60])
def test_each_time_has_a_column(reach: int) -> None:
    found = count_cells([(START, 5, False), (START + reach, 5, False)])
    assert 1 <= found["columns"] <= 91
    assert found["begin"] <= START
    assert all(0 <= column < found["columns"] for column, *_ in found["cells"])


async def test_the_differences_of_a_box() -> None:
    api = Api()
    for number in range(60):
        for segment in _segments(number):
            slow = number >= 50
            measured = (("time.running", "201"), ("loop.waited", "180"), ("tasks", "[]")) if slow else ()
            tags = (("tenant", "globex" if slow else f"t{number % 5}"), ("both", "1"), *measured)
            api.store.add(replace(segment, spans=tuple(replace(span, tags=tags) for span in segment.spans)))
    found = await api("differences", box_min_ms=5100)
    assert (found["inside"], found["outside"]) == (10, 50)
    (only,) = found["differences"]
    assert only == {
        "kind": "tag", "key": "tenant", "value": "globex", "term": "tenant=globex", "inside": 10, "outside": 0,
        "share_inside": 1.0, "share_outside": 0.0,
    }  # fmt: skip
    assert (await api("traces", q=only["term"]))["total"] == 10
    everything = await api("differences", box_min_ms=0)
    assert (everything["outside"], everything["differences"]) == (0, [])
    nothing = await api("differences", box_from=START + 10**9)
    assert (nothing["inside"], nothing["differences"]) == (0, [])


def test_a_value_that_few_traces_have_by_chance_is_no_difference() -> None:
    assert sure_difference(2, 2, 500, 1000) < 0.0
    assert sure_difference(0, 0, 5, 10) == sure_difference(5, 10, 0, 0) == 0.0
    assert sure_difference(90, 100, 170, 1000) > 0.5
    assert sure_difference(1000, 1000, 1000, 1000) < 0.01


def test_long_and_many_values_are_cut_and_marked() -> None:
    tags = (*((f"key{number}", "v" * 300) for number in range(MOST)), ("last", "x"))
    message = message_of(Segment("t", "s", "a", "b", (Span(0, -1, 1, 2, "/x", tags=tags),)))
    text = index(message, b"").row[-1]
    assert text.startswith(CUT)
    assert text.count(CUT) == MOST + 1
    assert "v" * (LONGEST + 1) not in text
    assert index_bytes(message.SerializeToString()).row[-1] == text


def test_the_kind_of_an_error_is_read_from_a_traceback_too() -> None:
    logs = (SpanLog(1, (("Traceback", 'Traceback (most recent call last):\n  File "a"\nshop.Broken: no: chairs\n'),)),)
    message = message_of(Segment("t", "s", "a", "b", (Span(0, -1, 1, 2, "/x", is_error=True, logs=logs),)))
    assert "\x04\x1eshop.Broken\x1f" in index(message, b"").row[-1]
