"""`swagent profile` makes a task at a running collector, says how far it is, and prints what came of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Run
from kit.servers import collector_thread, dead_address
from swagent.cli import main, profile
from swagent.cli.collector_page import CollectorError, CollectorPage
from swagent.cli.profile_tree import render_profile
from swagent.collector.server import Collector
from swagent.collector.store.profile_tasks import ProfileTask
from swagent.collector.store.records import ProfileFinish, ThreadSnapshot
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment, Span

NOW = 1_700_000_000_000
STACKS = (
    ("GET:/slow", "uvicorn.run:1", "starlette.call:2", "fastapi.run:3", "shop.slow:7", "[running]"),
    ("GET:/slow", "uvicorn.run:1", "starlette.call:2", "fastapi.run:3", "shop.slow:8", "asyncio.sleep:9",
     "[awaiting asyncio.sleep]"),
)  # fmt: skip


@pytest.fixture
def page() -> Iterator[Collector]:
    """A collector with its page, that knows a service `shop` with two endpoints."""
    with collector_thread(Collector(page_port=0)) as (running, _):
        for number, endpoint in enumerate(("GET:/slow", "GET:/fast")):
            span = Span(0, -1, NOW, NOW + 40, endpoint, "", "Entry", "Http", 7014)
            running.store.add(Segment(f"t{number}", f"s{number}", "shop", "i1", (span,)))
        yield running


class Agent:
    """Takes each profile task as soon as it is made, and does its part of it in another thread."""

    def __init__(self, store: Store, act: Callable[[str], None]) -> None:
        self._store = store
        self._act = act
        self._made = threading.Event()
        self._order = store.order_profile
        store.order_profile = self._take  # type: ignore[method-assign]

    def _take(self, task: ProfileTask) -> ProfileTask:
        kept = self._order(task)
        [taken] = self._store.assign_profiles(kept.service, "i1", 0)
        threading.Thread(target=self._act, args=(taken.id,)).start()
        return kept


def send_stacks(store: Store, task: str) -> None:
    for number in range(5):
        store.add(ThreadSnapshot(task, "s0", NOW + number * 10, 100 + number, STACKS[number >= 1]))


@pytest.mark.gate
@pytest.mark.parametrize("everything", [False, True])
def test_the_tree_names_the_slow_call_and_what_it_awaited(swagent: Run, page: Collector, everything: bool) -> None:
    def act(task: str) -> None:
        send_stacks(page.store, task)
        page.store.add(ProfileFinish("shop", "i1", task))

    Agent(page.store, act)
    more = ["--all"] if everything else []
    result = swagent("profile", "--service", "shop", "--endpoint", "GET:/slow", "--collector", page.page_address, *more)
    assert result.returncode == 0, result.stderr
    [task] = [each.task for each in page.store.profiles()]
    assert (task.endpoint, task.seconds, task.period, task.samples) == ("GET:/slow", 60, 10, 5)
    assert f"http://{page.page_address}/#/profiles/{task.id}" in result.stderr
    assert "Over. 1 request has been followed." in result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "40 ms in the stacks: running 10 ms (25%), awaiting 30 ms (75%)"
    tree = [line[18:] for line in lines[2:]]
    libraries = [
        "  uvicorn.run:1",
        "    starlette.call:2",
        "      fastapi.run:3",
    ] if everything else ["  … 3 calls in uvicorn, starlette, fastapi"]  # fmt: skip
    above = "  " * (4 if everything else 2)
    assert tree == [
        "GET:/slow",
        *libraries,
        f"{above}shop.slow:8",
        f"{above}  asyncio.sleep:9",
        f"{above}    [awaiting asyncio.sleep]",
        f"{above}shop.slow:7",
        f"{above}  [running]",
    ]
    assert lines[2].startswith("     40 ms  100%  ")


def test_short_calls_are_left_out_and_counted() -> None:
    def node(depth: int, name: str, ms: int) -> dict[str, object]:
        return {"depth": depth, "name": name, "ms": ms, "state": "", "library": False, "beside": "/ task" in name}

    text = render_profile([node(0, "GET:/", 1000), node(1, "app.a:1", 996), node(1, "app.b:1", 4)])
    assert "app.b" not in text
    assert text.endswith("Calls that took less than 0.5% are left out: 1; --all shows them.")
    assert "app.b" in render_profile([node(0, "GET:/", 1000), node(1, "app.b:1", 4)], everything=True)
    beside = render_profile([node(0, "GET:/", 100), node(0, "GET:/ / task fetch", 40)]).splitlines()
    assert (beside[0], beside[3]) == ("100 ms in the stacks", "     40 ms   40%  GET:/ / task fetch")
    assert render_profile([node(0, "GET:/", 0)]).splitlines()[-1].endswith("GET:/")


@pytest.mark.parametrize(
    ("service", "endpoint", "words"),
    [
        ("shpo", "GET:/slow", "no service 'shpo' has reported. Did you mean 'shop'?"),
        ("zzz", "GET:/slow", "no service 'zzz' has reported. These have: shop"),
        ("shop", "get:/slo", "shop has served no request of 'get:/slo'. Did you mean 'GET:/slow'?"),
        ("shop", "/slow", "Did you mean 'GET:/slow'?"),
    ],
)
def test_unknown_names_are_said_with_a_guess(
    swagent: Run, page: Collector, service: str, endpoint: str, words: str
) -> None:
    result = swagent("profile", "--service", service, "--endpoint", endpoint, "--collector", page.page_address)
    assert (result.returncode, result.stdout) == (1, "")
    assert words in result.stderr
    assert page.store.profiles() == []


def test_a_service_that_is_busy_is_said_so(swagent: Run, page: Collector) -> None:
    CollectorPage(page.page_address).post("profiles", body={"service": "shop", "endpoint": "GET:/fast"})
    result = swagent("profile", "--service", "shop", "--endpoint", "GET:/slow", "--collector", page.page_address)
    assert result.returncode == 1
    assert "'shop' is at another profile, of 'GET:/fast'" in result.stderr


@pytest.mark.gate
def test_no_collector_another_server_and_no_address(swagent: Run, page: Collector) -> None:
    options = ("profile", "--service", "shop", "--endpoint", "GET:/slow", "--collector")
    with dead_address() as address:
        result = swagent(*options, address)
    assert (result.returncode, "Start one with: swagent collector" in result.stderr) == (1, True)
    result = swagent(*options, f"http://{page.page_address}/assets")
    assert (result.returncode, "there is nothing at /assets/api/services" in result.stderr) == (1, True)
    result = swagent(*options, "ftp://127.0.0.1")
    assert (result.returncode, "no address of a page" in result.stderr) == (1, True)
    result = swagent(*options, page.address)  # of gRPC
    assert (result.returncode, "no collector answers" in result.stderr) == (1, True)


def test_a_task_that_no_instance_takes_or_that_sees_nothing_fails(
    page: Collector, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(profile, "_POLL", 0.01)
    asked = page.store.order_profile

    def make_old(task: ProfileTask) -> ProfileTask:
        return asked(replace(task, created=task.created - 100_000))

    monkeypatch.setattr(page.store, "order_profile", make_old)
    arguments = ["profile", "--service", "shop", "--endpoint", "GET:/slow", "--collector", page.page_address]
    assert main(arguments) == 1
    assert "No agent has asked in time." in capsys.readouterr().err


@pytest.mark.gate
def test_ctrl_c_shows_what_there_is(page: Collector, tmp_path: Path) -> None:
    Agent(page.store, lambda task: send_stacks(page.store, task))
    command = [sys.executable, "-m", "swagent", "profile", "--service", "shop", "--endpoint", "GET:/slow"]
    process = subprocess.Popen(
        [*command, "--collector", page.page_address], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=dict(os.environ),
        # a program that a shell starts in the background ignores it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    with process:
        assert process.stderr is not None
        for line in process.stderr:
            if "1 request has been followed" in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted" in err
    assert "[awaiting asyncio.sleep]" in out


def test_an_answer_that_is_no_json_is_an_error() -> None:
    with collector_thread(Collector(page_port=0)) as (running, _), pytest.raises(CollectorError, match="no page of"):
        CollectorPage(f"{running.page_address}/?").get()
