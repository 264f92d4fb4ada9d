"""`swagent ask` prints what a running collector finds amiss, over all that is kept or in one trace."""

from __future__ import annotations

import json
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from datetime import datetime, timedelta

import httpx
import pytest

from cli.conftest import Run
from collector.made_traces import Request, made
from collector.served import START
from collector.test_findings_now import failing, payments
from collector.test_findings_of_a_trace import payment
from kit.servers import collector_thread, dead_address
from swagent.cli import ask, main
from swagent.collector.api import queries
from swagent.collector.server import Collector


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector with its page, that has kept slow and failed requests of long ago. It gives a page its last answer,
    as one with so many of them that it takes long to look at all."""
    monkeypatch.setitem(queries._KEPT, "/api/findings", 0.0)
    with collector_thread(Collector(page_port=0)) as (running, _):
        for trace in (
            *payments(100),
            failing(3),
            made(payment(3170, 160), 20_000, "slow"),
            made(payment(), 0, "usual"),
        ):
            for segment in trace:
                running.store.add(segment)
        yield running


def test_what_is_amiss_now(swagent: Run, page: Collector) -> None:
    result = swagent("ask", "--collector", page.page_address)
    assert (result.returncode, result.stderr) == (0, "")
    head, _, first, sentence, *rest = result.stdout.splitlines()
    assert head == "2 findings in 103 requests, those first that explain most:"
    assert first == " 1. slow dependency"
    assert sentence.startswith("    95 % · payments → ledger-db:5432 · SELECT balance · 3.17 s, usually 8 ms (p50 of")
    assert f"    http://{page.page_address}/#/traces/slow?span=" in result.stdout
    assert any("OutOfStock stock/pool.py:118 → HTTPStatusError shop/app.py:88 → 502" in line for line in rest)


def test_one_trace(capsys: pytest.CaptureFixture[str], page: Collector) -> None:
    assert main(["ask", "trace", "slow", "--collector", page.page_address]) == 0
    text = capsys.readouterr().out
    assert "95 % · payments → ledger-db:5432 · SELECT balance · 3.17 s, usually 8 ms (p50 of 101)" in text
    assert main(["ask", "trace", "usual", "--collector", page.page_address]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Nothing took longer than usual. Most of its time: 47 % · payments → ledger-db:5432")
    assert second == "Nothing else is amiss."


def test_json_is_the_answer_itself(capsys: pytest.CaptureFixture[str], page: Collector) -> None:
    assert main(["ask", "--json", "--collector", page.page_address]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in found["findings"]] == ["slow_dependency", "error_chain"]


def test_what_came_since_the_page_was_answered_is_in_it(capsys: pytest.CaptureFixture[str], page: Collector) -> None:
    address = f"http://{page.page_address}/api/findings"
    before = httpx.get(address, trust_env=False).json()
    for segment in made(payment(), 50_000, "later"):
        page.store.add(segment)
    assert httpx.get(address, trust_env=False).json() == before
    assert main(["ask", "--collector", page.page_address]) == 0
    assert f"in {before['requests'] + 1} requests" in capsys.readouterr().out


def test_only_what_began_lately(capsys: pytest.CaptureFixture[str], page: Collector) -> None:
    assert main(["ask", "--since", "5m", "--collector", page.page_address]) == 0
    assert capsys.readouterr().out == "No request has been recorded in this time.\n"
    for segment in made(Request("shop", "GET:/now", 0, 4), int(time.time() * 1000) - START):
        page.store.add(segment)
    assert main(["ask", "--since", "5m", "--collector", page.page_address]) == 0
    assert capsys.readouterr().out == "Nothing is amiss in 1 request.\n"


def test_no_collector_and_an_unknown_trace(capsys: pytest.CaptureFixture[str], page: Collector) -> None:
    with dead_address() as address:
        assert main(["ask", "--collector", address]) == 1
    said = capsys.readouterr().err
    assert f"swagent ask: no collector answers at http://{address}" in said
    assert "Start one with: swagent collector" in said
    assert main(["ask", "trace", "none", "--collector", page.page_address]) == 1
    assert "nothing is kept of 'none': it never came, or fell out" in capsys.readouterr().err


@pytest.mark.parametrize("place", [0, 1, 2])
def test_options_stand_anywhere(capsys: pytest.CaptureFixture[str], page: Collector, place: int) -> None:
    words = ["trace", "none"]
    words[place:place] = ["--collector", page.page_address]
    assert main(["ask", *words]) == 1
    assert "nothing is kept of 'none'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["trace"], ["trace", ""], ["why"], ["trace", "a", "b"]])
def test_words_that_mean_nothing(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["ask", *words]) == 2
    assert "swagent ask trace" in capsys.readouterr().err


def test_times() -> None:
    parse, moment = ask._length, ask._moment
    assert [parse(each) for each in ("30s", "5m", "1.5 h", "2min", "1d")] == [30, 300, 5400, 120, 86_400]
    assert moment("5m") == pytest.approx(time.time() - 300, abs=5)
    earlier = datetime.now().astimezone() - timedelta(minutes=10)
    assert moment(earlier.strftime("%H:%M:%S")) == pytest.approx(earlier.timestamp(), abs=1)
    later = datetime.now().astimezone() + timedelta(minutes=10)
    assert moment(later.strftime("%H:%M")) == pytest.approx(later.timestamp() - 86_400, abs=61)
    assert moment("2026-11-24T14:05:00+00:00") == 1_795_529_100
    for wrong in ("noon", "5", "25:99"):
        with pytest.raises(ArgumentTypeError, match="is no time such as"):
            moment(wrong)
