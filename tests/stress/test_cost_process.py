"""The process whose instructions are counted: its clock, its connections, and how far its records go."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi import FastAPI

from record.recorded import recording
from stress.cost.calling import QUERIES, with_calls
from stress.cost.connections import CONNECTIONS, Server
from stress.cost.counter import NEEDED, PLACE, Counter, build_counter
from stress.cost.process import CLIENTS
from stress.cost.requests import CASES
from stress.cost.stages import STAGES, Confirming
from swagent import Agent, Config, entry_span
from swagent.instrument import instrument, uninstrument
from swagent.pipeline.channel import Channel
from swagent.pipeline.intake import SegmentIntake
from swagent.pipeline.log_intake import LogIntake

ROOT = Path(__file__).parents[2]
CLOCKS = """
import time
from stress.cost.counter import Counter
counter = Counter()
counter.advance(0)
looks = lambda: (time.time_ns(), time.monotonic_ns(), time.perf_counter_ns())
before, at_work = looks(), time.process_time()
while time.process_time() < at_work + 0.02:
    pass
assert looks() == before
counter.advance(5_000_000)
assert [later - earlier for earlier, later in zip(before, looks())] == [5_000_000] * 3
print(before[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="valgrind or gcc is missing")
def test_the_clocks_go_on_only_by_what_is_said(tmp_path: Path) -> None:
    library = str(build_counter(tmp_path))
    environ = {**os.environ, "LD_PRELOAD": library, PLACE: library}
    done = subprocess.run([sys.executable, "-c", CLOCKS], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1.7e18


class NotedCounter:
    """Notes what passes."""

    def __init__(self) -> None:
        self.passed = 0

    def advance(self, nanoseconds: int) -> None:
        self.passed += nanoseconds


async def answer(scope: MutableMapping[str, Any], _: object, send: Any) -> None:
    status = 200 if scope["path"] == "/trivial" else 404
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})


def test_requests_are_served_and_let_time_pass() -> None:
    async def run() -> tuple[int, int]:
        counter = NotedCounter()
        server = Server(answer, cast("Counter", counter))
        await server.serve(CASES["trivial"].requests()[: CONNECTIONS + 1])
        return server.answered, counter.passed

    answered, passed = asyncio.run(run())
    assert answered == CONNECTIONS + 1
    assert passed == answered * 80_000


def test_a_path_that_is_not_served_fails() -> None:
    async def run() -> None:
        await Server(answer, cast("Counter", NotedCounter())).serve(CASES["info"].requests()[:1])

    with pytest.raises(RuntimeError, match="404"):
        asyncio.run(run())


@pytest.mark.parametrize(("stage", "offered"), [("recorded", 0), ("encoded", 0), ("confirmed", 1)])
def test_records_go_as_far_as_the_stage(stage: str, offered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[int, int]:
        async with Agent(Config(service="counted", collector="127.0.0.1:9"), transport=Confirming) as agent:
            with entry_span("asked"):
                pass
            await agent.flush()
            ledger = agent.statistics().segment
            return ledger.offered, ledger.confirmed

    # named here as well, so that they are put back
    monkeypatch.setattr(Channel, "offer", Channel.offer)
    monkeypatch.setattr(Channel, "offer_many", Channel.offer_many)
    monkeypatch.setattr(Channel, "wake_reader", Channel.wake_reader)
    for intake in (SegmentIntake, LogIntake):
        monkeypatch.setattr(intake, "_encode_group", vars(intake)["_encode_group"])
    STAGES[stage].cut()
    assert asyncio.run(run()) == (offered, offered)


def test_a_cut_that_finds_no_place_says_so_and_cuts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Channel, "offer")
    before = dict(vars(Channel))
    with pytest.raises(AttributeError, match="Channel has no offer any more"):
        STAGES["encoded"].cut()
    assert dict(vars(Channel)) == before


@pytest.mark.parametrize(("case", "calls"), [("query", 1), ("queries", QUERIES), ("call", 1)])
def test_a_handler_that_calls_has_a_span_for_each_call(case: str, calls: int) -> None:
    app = FastAPI()

    async def traced(scope: Any, receive: Any, send: Any) -> None:
        with entry_span("asked"):
            await app(scope, receive, send)

    async def run() -> int:
        async with with_calls(app):
            server = Server(traced, cast("Counter", NotedCounter()))
            await server.serve(CASES[case].requests()[: CONNECTIONS + 1])
        return server.answered

    instrument(*CLIENTS)
    try:
        with recording() as recorder:
            assert asyncio.run(run()) == CONNECTIONS + 1
    finally:
        uninstrument(*CLIENTS)
    handled = [names for names in recorder.names if "asked" in names]
    assert [len(names) for names in handled] == [calls + 1] * (CONNECTIONS + 1)
