"""Messages that waited in a queue: over all, and of one trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from collector.made_traces import Did, Request, made, store_of
from collector.test_findings_now import look
from collector.test_findings_of_a_trace import found
from swagent.collector.findings.finding import Finding, Place
from swagent.collector.findings.queues import Wait, judge
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment

CONSUMER = ("mailer", "Kafka/orders/Consumer/mail")


def sent(wait: int, at: int = 0, trace: str = "", took: int = 12) -> list[Segment]:
    """An order whose message waited so many milliseconds for its consumer."""
    consumed = Request(CONSUMER[0], CONSUMER[1], 10 + wait, 10 + wait + took)
    producing = Did("Kafka/orders/Producer", 8, 10, "broker:9092", "MQ", served=consumed)
    segments = made(Request("shop", "POST:/order", 0, 14, [producing]), at, trace)
    return [
        replace(each, spans=tuple(replace(span, layer="MQ") for span in each.spans))
        if each.service == CONSUMER[0] else each
        for each in segments
    ]  # fmt: skip


def latencies(store: Store) -> list[Finding]:
    return [each for each in look(store).findings if each.kind == "queue_latency"]


def waits(of: Iterable[int], apart: int = 100) -> list[Wait]:
    return [Wait("broker:9092", ms, 12, number * apart, Place(f"t{number}", "s:0")) for number, ms in enumerate(of)]


def test_a_consumer_that_does_not_keep_up() -> None:
    """Each message waits 50 ms longer than the one before."""
    [finding] = latencies(store_of(*(sent(5 + number * 50, number * 100) for number in range(60))))
    assert finding.sentence == (
        "mailer · Kafka/orders/Consumer/mail: messages wait in the queue at broker:9092 · p90 2.65 s, a tenth of 60 "
        "at most 305 ms; the work on one takes 12 ms (p50)"
    )
    assert (finding.service, finding.operation, finding.peer) == (*CONSUMER, "broker:9092")


@pytest.mark.parametrize(
    "of",
    [
        pytest.param([5] * 100, id="at once"),
        pytest.param([30_000] * 100, id="sent to be consumed later"),
        pytest.param([-4000 + number % 7 for number in range(100)], id="clocks that differ"),
        pytest.param([5] * 95 + [900] * 5, id="one of twenty"),
        pytest.param([900] * 15 + [5] * 85, id="a consumer that started late"),
        pytest.param([5, 900] * 9, id="few messages"),
        pytest.param([5 + number % 60 for number in range(100)], id="short waits"),
    ],
)
def test_what_is_usual_is_nothing(of: list[int]) -> None:
    assert judge(CONSUMER, waits(of)) is None


@pytest.mark.parametrize(
    ("of", "count"),
    [
        pytest.param([5, 5, 5, 900] * 10, 10, id="again and again"),
        pytest.param([5] * 70 + [900] * 30, 30, id="for three seconds"),
        pytest.param([5] * 9 + [900] * 11, 11, id="most of them"),
    ],
)
def test_what_is_longer_than_usual(of: list[int], count: int) -> None:
    finding = judge(CONSUMER, waits(of))
    assert finding is not None
    assert (finding.count, finding.ms) == (count, count * 895)
    assert finding.link == f"#/traces/t{of.index(900)}?span=s%3A0"


def test_one_message_that_waited() -> None:
    usual = [sent(8, number * 100) for number in range(30)]
    [finding] = found(*usual, of=sent(700, 9000, "late")).findings
    assert finding.sentence == (
        "mailer · Kafka/orders/Consumer/mail: the message waited in the queue at broker:9092 for 700 ms, a tenth "
        "of 30 at most 8 ms"
    )
    assert (finding.confidence, finding.places[0].trace_id) == ("high", "late")
    assert found(*usual, of=sent(60, 9000, "quick")).findings == []


@pytest.mark.parametrize(("ms", "expected"), [(1200, ["medium"]), (700, [])])
def test_a_message_of_which_nothing_is_usual_yet(ms: int, expected: list[str]) -> None:
    answer = found(of=sent(ms, trace="only"))
    assert [each.confidence for each in answer.findings if each.kind == "queue_latency"] == expected


def test_what_the_consumer_measured_counts() -> None:
    measured = sent(5, trace="measured")
    spans = (replace(measured[0].spans[0], tags=(("transmission.latency", "1500"),)),)
    answer = found(of=[replace(measured[0], spans=spans), *measured[1:]])
    assert [each.ms for each in answer.findings] == [1500]
