"""How long a trace took, by which clock, and who caused what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.served import START, Api
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span

pytestmark = pytest.mark.anyio


def cause(segment: Segment, span: int, kind: str = "CrossProcess") -> Reference:
    by_id = {each.span_id: each for each in segment.spans}
    return Reference(
        kind, segment.trace_id, segment.segment_id, span, segment.service, segment.instance, by_id[0].operation, "x"
    )


def order(number: int = 0, took: int = 1130) -> list[Segment]:
    """A request that sends a message, whose consumer works until 2.51 s after the answer."""
    start, trace = START + number * 10_000, f"order-{number}"
    shop = (
        Span(1, 0, start + 10, start + 20, "Kafka/orders/Producer", "kafka:9092", "Exit", "MQ", 40),
        Span(0, -1, start, start + took, "POST:/orders", "", "Entry", "Http", 7014),
    )
    first = Segment(trace, f"shop-{number}", "shop", "shop-1", shop)
    mailer = (
        Span(
            *(0, -1, start + took + 10, start + took + 2510, "Kafka/orders/Consumer", "kafka:9092", "Entry", "MQ", 41),
            references=(cause(first, 1),),
        ),
        Span(1, 0, start + took + 20, start + took + 2500, "render"),
    )
    return [Segment(trace, f"mailer-{number}", "mailer", "mailer-1", mailer), first]


async def test_a_trace_takes_as_long_as_its_root(api: Api) -> None:
    api.add(*order())
    [row] = (await api("traces"))["traces"]
    assert (row["start"], row["duration"], row["endpoint"]) == (START, 1130, "POST:/orders")
    trace = await api("traces/order-0")
    assert [trace[name] for name in ("start", "duration", "after", "is_messaging")] == [START, 1130, 2510, True]


async def test_sort_filters_and_percentiles_go_by_it(api: Api) -> None:
    api.add(*order(0, 1130), *order(1, 900), *order(2, 2000))
    assert [row["duration"] for row in (await api("traces", sort="slowest"))["traces"]] == [2000, 1130, 900]
    assert [row["trace_id"] for row in (await api("traces", min_ms=1200))["traces"]] == ["order-2"]
    assert [row["trace_id"] for row in (await api("traces", max_ms=1000))["traces"]] == ["order-1"]
    services = {each["name"]: each for each in (await api("services"))["services"]}
    assert (services["shop"]["p50"], services["mailer"]["p50"]) == (1130, 2500)


async def test_of_an_endpoint_that_is_looked_for_the_own_time_counts(api: Api) -> None:
    api.add(*order())
    consumer = "Kafka/orders/Consumer"
    [row] = (await api("traces", endpoint=consumer, min_ms=2500, max_ms=2500))["traces"]
    assert (row["duration"], row["endpoint"], row["service"]) == (2500, consumer, "mailer")
    assert (await api("traces", endpoint=consumer, service="shop"))["traces"] == []
    [row] = (await api("traces", endpoint="POST:/orders", service="shop"))["traces"]
    assert row["duration"] == 1130


async def test_the_root_counts_in_whatever_order_segments_come(api: Api) -> None:
    consumer, root = order()
    early = replace(consumer, spans=tuple(replace(each, start_time=START - 5000) for each in consumer.spans))
    api.add(early)
    [row] = (await api("traces"))["traces"]
    assert (row["start"], row["duration"]) == (START - 5000, 1130 + 2510 + 5000)
    api.add(root)
    [row] = (await api("traces"))["traces"]
    assert (row["start"], row["duration"]) == (START, 1130)


async def test_work_after_the_answer_is_no_messaging(api: Api) -> None:
    spans = (
        Span(0, -1, START, START + 100, "/a", kind="Entry", layer="Http"),
        Span(1, 0, START + 90, START + 400, "later"),
    )
    api.add(Segment("t", "s", "shop", "i", spans))
    trace = await api("traces/t")
    assert (trace["duration"], trace["after"], trace["is_messaging"]) == (100, 300, False)


def call(skew: int, took: int = 60, error: bool = False, layer: str = "Http") -> list[Segment]:
    """A call of 100 ms, to a service whose clock is ahead by so many milliseconds."""
    shop = (
        Span(1, 0, START + 10, START + 110, "/stock", "stock:80", "Exit", layer, is_error=error),
        Span(0, -1, START, START + 120, "/orders", "", "Entry", "Http"),
    )
    first = Segment("t", "a", "shop", "shop-1", shop)
    begin = START + 30 + skew
    stock = (
        Span(0, -1, begin, begin + took, "/stock", "", "Entry", layer, references=(cause(first, 1),)),
        Span(1, 0, begin + 5, begin + 15, "SELECT", "db:5432", "Exit", "Database"),
    )
    return [first, Segment("t", "b", "stock", "stock-1", stock)]


@pytest.mark.parametrize(
    ("segments", "start", "shift"),
    [
        pytest.param(call(0), 30, 0, id="clocks agree"),
        pytest.param(call(-4000), 30, 4000, id="behind"),
        pytest.param(call(+4000), 30, -4000, id="ahead"),
        pytest.param(call(-4000, took=5000), 10, 3980, id="behind, and longer than its caller"),
        pytest.param(call(+4000, error=True), 4030, 0, id="after a caller that gave up"),
        pytest.param(call(+4000, layer="MQ"), 4030, 0, id="a message waits"),
        pytest.param(call(-4000, layer="MQ"), 10, 3980, id="a message before it was sent"),
        pytest.param(call(-20), 10, 0, id="just fits"),
    ],
)
async def test_clocks_are_corrected_by_the_callers_span(
    api: Api, segments: list[Segment], start: int, shift: int
) -> None:
    api.add(*segments)
    spans = {each["id"]: each for each in (await api("traces/t"))["spans"]}
    assert (spans["b:0"]["start"] - START, spans["b:0"]["shift"]) == (start, shift)
    assert spans["b:1"]["start"] - spans["b:0"]["start"] == 5, "the whole process is moved"
    assert spans["a:1"]["shift"] == 0


async def test_moved_spans_are_in_the_order_of_the_moved_time(api: Api) -> None:
    first, second = call(-4000)
    late = Span(2, 0, START + 5, START + 9, "before the call")
    api.add(replace(first, spans=(*first.spans, late)), second)
    spans = (await api("traces/t"))["spans"]
    assert [each["operation"] for each in spans] == ["/orders", "before the call", "/stock", "/stock", "SELECT"]
    assert (await api("traces/t"))["duration"] == 120


def batch(traces: int) -> list[Segment]:
    """Producers in traces of their own, and one consumer of all their messages."""
    producers = []
    for number in range(traces):
        entry = Span(0, -1, START + number, START + 50, "POST:/orders", "", "Entry", "Http")
        leave = Span(1, 0, START + number, START + 5, "Kafka/orders/Producer", "k:9", "Exit", "MQ")
        producers.append(Segment(f"p-{number}", f"seg-{number}", "shop", "shop-1", (entry, leave)))
    references = tuple(cause(each, 1) for each in producers)
    consume = Span(0, -1, START + 100, START + 200, "Kafka/orders/Consumer", "", "Entry", "MQ", references=references)
    return [*producers, Segment("p-0", "consumer", "mailer", "m-1", (consume,))]


async def test_all_parents_and_all_consumers_are_linked(api: Api) -> None:
    *producers, consumer = batch(5)
    api.add(*producers[:4], consumer)
    spans = {each["id"]: each for each in (await api("traces/p-0"))["spans"]}
    parents = spans["consumer:0"]["parents"]
    assert spans["consumer:0"]["parent"] == "seg-0:1"
    assert [(each["trace_id"], each["span"], each["kept"]) for each in parents] == [
        ("p-1", "seg-1:1", True),
        ("p-2", "seg-2:1", True),
        ("p-3", "seg-3:1", True),
        ("p-4", "seg-4:1", False),
    ]
    assert parents[0]["service"] == "shop"
    link: dict[str, Any] = {
        "trace_id": "p-0", "span": "consumer:0", "service": "mailer", "endpoint": "Kafka/orders/Consumer", "kept": True
    }  # fmt: skip
    for number in (1, 2, 3):
        spans = {each["id"]: each for each in (await api(f"traces/p-{number}"))["spans"]}
        assert spans[f"seg-{number}:1"]["consumers"] == [link]
        assert spans[f"seg-{number}:0"]["consumers"] == []


async def test_a_consumer_in_a_trace_of_its_own_is_linked(api: Api) -> None:
    *producers, consumer = batch(1)
    api.add(*producers, replace(consumer, trace_id="other"))
    spans = {each["id"]: each for each in (await api("traces/p-0"))["spans"]}
    assert [each["trace_id"] for each in spans["seg-0:1"]["consumers"]] == ["other"]
    [span] = (await api("traces/other"))["spans"]
    assert [(each["trace_id"], each["kept"]) for each in span["parents"]] == [("p-0", True)]


async def test_links_fall_out_with_their_segment(api: Api) -> None:
    api.add(*batch(3))
    assert len(api.store.read("SELECT 1 FROM links")) == 2
    few = Api(Store(max_segments=1))
    few.add(*batch(3), *call(0))
    few.store.commit()
    assert few.store.read("SELECT 1 FROM links") == []
