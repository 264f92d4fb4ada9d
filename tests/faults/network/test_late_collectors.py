"""Nothing listens, and then something does. Something listens, and takes no connection."""

from __future__ import annotations

import logging
import time
from functools import partial

import anyio
import pytest
from aiokafka.conn import collect_hosts

from faults.covering import each_cell
from faults.network.lines import PATIENCE, Line, agent_for, confirm_one, record, wait_for
from faults.noted_transport import Note
from kit.servers import full_backlog
from kit.stopwatch import Stopwatch

pytestmark = pytest.mark.anyio


@pytest.mark.slow
@each_cell("F01")
async def test_records_wait_for_a_port_that_is_bound_late(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    await line.proxy.thread.call(line.proxy.stop)
    caplog.set_level(logging.INFO)
    async with line.agent() as agent:
        record(5)
        await wait_for(lambda: probes(line) >= 3)
        assert line.audit(agent) == {"queued": 5}
        assert not await agent.flush(0.05)
        await line.proxy.thread.call(line.proxy.start)
        with anyio.fail_after(5):
            assert await agent.flush(5)
        assert line.audit(agent) == {"confirmed": 5}
        await confirm_one(agent)
    assert line.audit(agent) == {"confirmed": 6}
    # asyncio, in debug mode, complains about a busy machine
    lines = [(each.name, each.levelname) for each in caplog.records if each.name != "asyncio"]
    # the last one is the ledger's, at the end
    assert lines == [("swagent", "WARNING"), ("swagent", "INFO"), ("swagent", "INFO")], caplog.text


def probes(line: Line) -> int:
    return sum(note.call == "probe" for note in line.notes)


@pytest.mark.slow
@each_cell("F02")
async def test_connecting_ends_at_its_deadline_and_the_next_collector_is_tried(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    # else the Kafka client tries its servers in any order
    monkeypatch.setattr("aiokafka.client.collect_hosts", partial(collect_hosts, randomize=False))
    with full_backlog() as address:
        agent = agent_for(line.transport, [address, line.proxy.address], line.notes, request_timeout=2.0)
        async with agent:
            record(5)
            began = time.monotonic()
            with anyio.fail_after(PATIENCE):
                assert await agent.flush(PATIENCE)
            assert time.monotonic() - began >= 0.15, "the first one was tried"
        assert line.audit(agent) == {"confirmed": 5}


@each_cell("F02")
async def test_stopping_while_no_connection_comes_about(transport: str) -> None:
    notes: list[Note] = []
    with full_backlog() as address:
        agent = agent_for(transport, [address], notes, shutdown_timeout=0.3, request_timeout=30.0)
        async with agent:
            record(5)
            await anyio.sleep(0.05)
            watch = Stopwatch()
        # the contract's half second, and what a busy machine may add to it
        assert watch.own_seconds < 0.3 + 3.0
    assert agent.statistics().segment.dropped == {"shutdown": 5}
    assert not [note for note in notes if note.call == "send"]
