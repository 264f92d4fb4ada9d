"""The lessons: what is made of their figures, and the loads that they put on."""

from __future__ import annotations

import asyncio
import json
import socket
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stress.clients.bench import benches
from stress.lessons import (
    awaits,
    batches,
    connections,
    curves,
    forwarding,
    handover,
    http,
    interpreter_program,
    interpreters,
    kafka_clients,
    kafka_sending,
    log_lines,
    names,
    names_asking,
    pool,
    process_handover,
)
from stress.lessons.command import LESSONS, main
from stress.lessons.http_asking import ask
from stress.lessons.lesson import Lesson, middle_of_rounds, percentile, ratio
from stress.lessons.logging_program import BASE
from swagent.collector.intake.codec import RawCodec
from swagent.testing import collector


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


def test_parts_of_a_drain() -> None:
    found = [batches.Batch(10, (number + 1) * 0.5, 8.0 - number) for number in range(8)]
    assert batches.in_parts(found, 4) == [(20.0, 7.5), (20.0, 5.5), (20.0, 3.5), (20.0, 1.5)]
    assert batches.faults({128: batches.in_parts(found, 4)}) == []
    assert batches.faults({128: [(20.0, 1.0), (20.0, 1.0)]}) == ["batches of 128: the latency does not fall"]


@pytest.mark.slow
def test_a_record_that_is_handed_to_a_process_is_taken_out() -> None:
    # it compares what was handed over with what was taken out
    found = process_handover.hand_over(0.01)
    assert found["sent"] > 0
    assert found["cpu"] > 0


def test_each_way_of_handing_over_is_a_bench_or_a_process() -> None:
    assert set(handover.WAYS) - {handover.PROCESS} <= set(benches("handover"))


def test_an_interpreter_is_compared_with_cpython_in_what_the_agent_adds() -> None:
    us = {
        interpreters.Key(interpreters.CPYTHON, False): 20.0, interpreters.Key(interpreters.CPYTHON, True): 60.0,
        interpreters.Key(interpreters.PYPY, False): 10.0, interpreters.Key(interpreters.PYPY, True): 90.0,
    }  # fmt: skip
    row = interpreters.row(interpreters.PYPY, us)
    assert row == ("PyPy", "10.0", "0.50 x", "90.0", "1.50 x", "80.0", "2.00 x")
    assert interpreters.faults(interpreters.Found(us, 7, 7)) == []
    assert interpreters.faults(interpreters.Found(us, 7, 6)) == ["7 requests were recorded, 6 confirmed"]


def test_each_request_of_an_interpreter_is_answered_and_confirmed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(interpreter_program, "WARM_UP", 20)
    with collector() as running:
        for address, requests in (("", 0), (running.address, 50)):
            interpreter_program.main(address, "10", "3", str(tmp_path / "found"))
            found = json.loads((tmp_path / "found").read_text())
            assert (found["made"], found["confirmed"]) == (requests, requests)
            assert found["us"] > 0


def test_the_published_kafka_figures_stand_beside_ways() -> None:
    assert {*kafka_clients.PUBLISHED, *kafka_clients.NOT_FLUSHED} <= set(kafka_sending.WAYS)


def test_a_way_that_stopped_early_counts_by_its_rate() -> None:
    assert kafka_clients.seconds(kafka_sending.Sent(500, 20.0, 20.0, 500), 5000) == 200.0


def test_what_a_kafka_client_loses_makes_the_table_void_unless_it_was_not_flushed() -> None:
    def outcome(confirmed: int, arrived: int) -> list[kafka_clients.Outcome]:
        return [kafka_clients.Outcome(kafka_sending.Sent(10, 1.0, 1.0, confirmed), arrived)]

    flushed, lax = kafka_clients.BASE, kafka_clients.NOT_FLUSHED[0]
    assert kafka_clients.faults({flushed: outcome(10, 10), lax: outcome(3, 4)}) == []
    assert kafka_clients.faults({flushed: outcome(10, 9)}) == [f"{flushed}: 10 confirmed and 9 arrived of 10"]
    assert kafka_clients.faults({flushed: outcome(9, 10)}) == [f"{flushed}: 9 confirmed and 10 arrived of 10"]
    assert kafka_clients.faults({lax: outcome(5, 4)}) == [f"{lax}: 5 confirmed and 4 arrived of 10"]
    assert kafka_clients.faults({lax: outcome(5, 11)}) == [f"{lax}: 5 confirmed and 11 arrived of 10"]


def test_pages_are_got_so_many_at_a_time() -> None:
    most = under_way = total = 0

    async def get(_: str) -> None:
        nonlocal most, under_way, total
        under_way, total = under_way + 1, total + 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    asyncio.run(ask(get, "http://peer", 4, 30))
    assert (most, under_way, total) == (4, 0, 30)


def test_a_rate_that_the_wait_forbids_and_a_proxy_that_was_not_used_are_void() -> None:
    slow, by_proxy = http.Place(http.WAIT, by_proxy=False), http.Place(0.0, by_proxy=True)
    good = {("httpx", slow): [http.Figure(600.0, 400.0)], ("aiohttp", by_proxy): [http.Figure(9000.0, 100.0)]}
    assert http.faults(good, 32) == []
    assert http.faults(good, 0) == ["the proxy has carried 0 connections of 1 runs"]
    assert http.faults({("httpx", slow): [http.Figure(700.0, 400.0)]}, 0) == ["httpx, 50 ms: 700 a second"]


def test_the_proxy_carries_a_connection_to_the_server_that_its_request_names() -> None:
    async def run() -> tuple[bytes, bytes, int]:
        asked: list[bytes] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            writer.close()

        forwarder = forwarding.Forwarder()
        async with (
            await asyncio.start_server(answer, "127.0.0.1", 0) as server,
            await asyncio.start_server(forwarder.serve, "127.0.0.1", 0) as proxy,
        ):
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection(*proxy.sockets[0].getsockname())
            writer.write(b"GET http://127.0.0.1:%d/item HTTP/1.1\r\nhost: it\r\n\r\n" % port)
            answered = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            return answered, asked[0].split(b" ")[1].rpartition(b"/")[2], forwarder.carried

    assert asyncio.run(run()) == (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b"item", 1)


def test_the_stand_in_for_the_resolver_answers_as_the_system_does() -> None:
    with pytest.raises(socket.gaierror, match="not known"):
        names_asking.stand_in(b"missing.invalid", 80)
    [(*_, address)] = names_asking.stand_in("other.invalid", 80, type=socket.SOCK_STREAM)
    assert address == ("127.0.0.1", 80)


def test_names_that_fail_have_an_error_and_the_others_an_answer() -> None:
    good = {
        "missing": (0.1, "ConnectError"),
        "silent": (0.2, "ConnectTimeout"),
        "address": (0.1, ""),
        "other": (0.8, ""),
    }
    assert names.faults({"httpx": [good]}) == []
    assert set(names.ASKS) == set(good)
    bad = {**good, "silent": (0.2, ""), "other": (30.0, "ConnectTimeout")}
    assert names.faults({"httpx": [bad]}) == [
        "httpx, a name of which no server answers: an answer",
        "httpx, then another name, which exists: ConnectTimeout",
    ]


def test_curves_are_drawn_in_shares_of_their_highest_value() -> None:
    drawn = ElementTree.fromstring(curves.draw("a < b", "time", {"rate": [5.0, 5.0, 5.0], "latency": [8.0, 4.0, 2.0]}))
    space = "{http://www.w3.org/2000/svg}"
    ends = []
    for path in drawn.findall(f"{space}path"):
        points = [tuple(map(float, each.split(","))) for each in path.attrib["d"][1:].split(" ")]
        assert [x for x, _ in points] == [56.0, 273.0, 490.0]
        ends.append((points[0][1], points[-1][1]))
    # the axis is at 276, and the highest value at 40
    assert ends == [(40.0, 40.0), (40.0, 217.0)]
    assert {"a < b", "time", "rate", "latency", "0.25"} <= {text.text for text in drawn.iter(f"{space}text")}


def test_a_drain_is_drawn_in_its_smallest_and_largest_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drained = [batches.Batch(10, (number + 1) * 0.5, 80.0 - number) for number in range(40)]
    pictures = batches.picture(dict.fromkeys(batches.SIZES, drained))
    lesson = Lesson("Drained", ("batch",), [("128",)], pictures=pictures)
    monkeypatch.setattr(batches, "measure", lambda short: lesson)
    assert main(["--lessons", "batches", "--out", str(tmp_path)]) == 0
    assert "latency, 3,000" in (tmp_path / "backlog.svg").read_text()
    assert "svg" not in (tmp_path / "lessons.json").read_text()
