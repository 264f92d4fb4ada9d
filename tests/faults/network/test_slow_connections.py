"""Connections that are slow, or carry their bytes in other pieces than they were sent in."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest

from faults.covering import each_cell
from faults.network.lines import PATIENCE, Line, Ticker, confirm_one, record, wait_for

pytestmark = pytest.mark.anyio


@pytest.mark.slow
@each_cell("F08")
async def test_on_a_slow_connection_everything_arrives_later(line: Line) -> None:
    ticker = Ticker()
    line.proxy.set(latency=0.05, jitter=0.05)
    agent = line.agent(request_timeout=10.0)  # imports a library, the first time
    async with anyio.create_task_group() as group:
        group.start_soon(ticker.run)
        async with agent:
            for _ in range(5):
                record(10)
                line.audit(agent)
                await anyio.sleep(0.05)
            with anyio.fail_after(PATIENCE):
                assert await agent.flush(PATIENCE)
            line.proxy.set(latency=0.0, jitter=0.0, rate=8_000)
            began = time.monotonic()
            record(30)
            with anyio.fail_after(10):
                assert await agent.flush(10)
            assert time.monotonic() - began >= 0.3, "it was slow"
        group.cancel_scope.cancel()
    print(f"the loop was held for {ticker.longest:.3f} s at most")
    assert line.audit(agent) == {"confirmed": 80}
    assert ticker.longest < 1.0, "and not for as long as the connection was slow"


@pytest.mark.slow
@each_cell("F08")
async def test_an_answer_that_comes_after_the_deadline_changes_nothing(line: Line) -> None:
    async with line.agent(request_timeout=1.0) as agent:
        await confirm_one(agent)
        line.proxy.down.latency = 2.0
        record(5)
        assert not await agent.flush(5.0)
        assert line.audit(agent) == {"confirmed": 1, "dropped ambiguous": 5}
        await wait_for(lambda: [note.verdict for note in line.notes if note.call == "probe"][-1] != "confirmed")
        line.proxy.heal()
        await confirm_one(agent)
    assert line.audit(agent) == {"confirmed": 2, "dropped ambiguous": 5}
    assert sum(line.arrived().values()) == 7, "the answers were late, the records were there"


@each_cell("F09")
@pytest.mark.parametrize("toxics", [{"slice": 1, "rate": 50_000}, {"gather": 0.02}], ids=["one byte", "together"])
async def test_how_bytes_are_cut_into_pieces_changes_nothing(line: Line, toxics: dict[str, Any]) -> None:
    line.proxy.set(**toxics)
    async with line.agent(request_timeout=20.0) as agent:
        for _ in range(4):
            record(5)
            # all signals' batches may be under way at the same time
            with anyio.move_on_after(0.02):
                await agent.flush()
        with anyio.fail_after(20):
            assert await agent.flush(20)
        assert line.audit(agent) == {"confirmed": 20}
    assert line.proxy.connected <= 4, "no connection was given up"
