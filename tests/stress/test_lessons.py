"""The lessons: what is made of their figures, and the loads that they put on."""

from __future__ import annotations

import asyncio
from importlib import import_module

import pytest

from stress.clients.bench import benches
from stress.lessons import awaits, batches, connections, handover, log_lines, pool, process_handover
from stress.lessons.command import LESSONS, main
from stress.lessons.lesson import Lesson, middle_of_rounds, percentile, ratio
from stress.lessons.logging_program import BASE
from swagent.collector.intake.codec import RawCodec


def test_rounds_take_turns_and_the_median_counts() -> None:
    order: list[str] = []
    values = {"a": iter([1.0, 9.0, 2.0]), "b": iter([4.0, 5.0, 60.0])}

    def measure(key: str) -> float:
        order.append(key)
        return next(values[key])

    assert middle_of_rounds(["a", "b"], 3, measure) == {"a": 2.0, "b": 5.0}
    assert order == ["a", "b"] * 3


def test_a_ratio_without_a_base_is_none() -> None:
    assert (ratio(3.0, 2.0), ratio(1.0, 250.0), ratio(3.0, 0.0)) == ("1.50 x", "0.0040 x", "-")


def test_percentiles() -> None:
    values = [float(each) for each in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([7.0], 0.99)) == (51.0, 100.0, 7.0)
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_a_fault_shows_below_the_table() -> None:
    lesson = Lesson("Waits", ("way", "s"), [("gathered", "1.00")], ["as expected"], ["nothing was answered"])
    assert lesson.render().splitlines() == [
        "### Waits", "", "| way | s |", "| --- | ---: |", "| gathered | 1.00 |", "", "- as expected",
        "- void: nothing was answered",
    ]  # fmt: skip


@pytest.mark.parametrize("name", LESSONS)
def test_each_lesson_can_be_measured(name: str) -> None:
    assert callable(import_module(LESSONS[name]).measure)


def test_the_status_says_whether_a_table_is_void(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    faults: list[str] = []
    monkeypatch.setattr(awaits, "measure", lambda short: Lesson("Waits", ("way",), [(str(short),)], (), faults))
    arguments = ["--lessons", "awaits", "--short", "--out", str(tmp_path)]
    assert main(arguments) == 0
    faults.append("void")
    assert main(arguments) == 1
    assert "| True |" in capsys.readouterr().out


def test_waits_that_are_not_longer_than_gathered_are_void() -> None:
    good = {("trio", "in sequence"): 5.0, ("trio", "gathered"): 1.0}
    assert awaits.faults(good) == []
    assert awaits.faults({**good, ("trio", "in sequence"): 1.9}) == ["trio, in sequence: not longer than gathered"]


def test_a_pool_lets_no_more_through_than_its_connections_answer() -> None:
    good = {(5, False): {"failed": 0, "answered": 480.0}}
    assert pool.faults(good) == []
    assert pool.faults({(5, False): {"failed": 0, "answered": 510.0}}) == ["5 connections: 0 failed, 510 a second"]
    assert pool.faults({(5, False): {"failed": 2, "answered": 400.0}}) == ["5 connections: 2 failed, 400 a second"]


def test_an_open_load_does_not_wait_for_answers() -> None:
    from stress.lessons.querying import open_load

    async def run() -> int:
        answer = asyncio.Event()
        asked = 0

        async def ask(_: float) -> None:
            nonlocal asked
            asked += 1
            if asked == 20:  # the last one: those before are all waiting
                answer.set()
            await answer.wait()

        return await asyncio.wait_for(open_load(ask, 0.0, 100.0, 0.2), 10)

    assert asyncio.run(run()) == 20


def test_no_way_answers_more_than_what_is_in_flight_allows() -> None:
    good = {connections.Cell("a pool, HTTP", 4, 0.01): 390.0, connections.Cell("a pool, HTTP", 4, 0.0): 4000.0}
    assert connections.faults(good) == []
    assert connections.faults({connections.Cell("a pool, HTTP", 4, 0.01): 410.0}) == [
        "a pool, HTTP, 4 in flight: 410 a second"
    ]


def test_calls_are_kept_in_flight() -> None:
    most = under_way = 0

    async def call() -> None:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    assert asyncio.run(connections.keep_calling(call, 7, 0.01)) > 0
    assert (most, under_way) == (7, 0)


def test_grpc_messages_stay_the_bytes_that_they_are() -> None:
    codec = RawCodec()
    assert codec.decode(codec.encode(b"\x00one", bytes), bytes) == b"\x00one"


def test_a_line_that_costs_nothing_more_when_it_is_formatted_makes_the_table_void() -> None:
    good = {"formatted, then not wanted": 120.0, BASE: 0.2}
    assert log_lines.faults(good, good) == []
    assert len(log_lines.faults(good, {**good, BASE: 80.0})) == 1


def test_what_is_drained_was_made_at_one_rate() -> None:
    arrivals = batches.Arrivals(100, rate=10.0)
    assert arrivals.take(0.0, 40) == (40, -8.0)  # the twentieth of a backlog of ten seconds
    assert arrivals.take(1.0, 100) == (70, -2.5)  # the others, and ten that came meanwhile
    assert arrivals.take(1.0, 100)[0] == 0


def test_quarters_of_a_drain() -> None:
    found = [batches.Batch(10, (number + 1) * 0.5, 8.0 - number) for number in range(8)]
    assert batches.quarters(found) == [(20.0, 7.5), (20.0, 5.5), (20.0, 3.5), (20.0, 1.5)]
    assert batches.faults({128: batches.quarters(found)}) == []
    assert batches.faults({128: [(20.0, 1.0), (20.0, 1.0)]}) == ["batches of 128: the latency does not fall"]


def test_a_record_that_is_handed_to_a_process_is_taken_out() -> None:
    # it compares what was handed over with what was taken out
    found = process_handover.hand_over(0.01)
    assert found["sent"] > 0
    assert found["cpu"] > 0


def test_each_way_of_handing_over_is_a_bench_or_a_process() -> None:
    assert set(handover.WAYS) - {handover.PROCESS} <= set(benches("handover"))
