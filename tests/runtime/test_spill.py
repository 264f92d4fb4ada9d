"""An agent spills to disk what finds no room in memory, and takes over what another one has left there."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faults.covering import covers
from kit.client import until
from runtime.worlds import agent_of, record, unreachable
from swagent import Agent, Config
from swagent.collector.store.trace_translation import decode_segment
from swagent.errors import ConfigError
from swagent.ledger import SignalStatistics
from swagent.self_meters.ledger import LedgerMeters
from swagent.signals import Signal
from swagent.testing import MemoryCollector

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="there is no flock")]
ROOM = 10


def away() -> MemoryCollector:
    collector = MemoryCollector()
    collector.behaviour = unreachable
    return collector


def spilling(collector: MemoryCollector, path: Path, **changes: Any) -> Agent:
    return agent_of(collector, spill=f"{path},8MiB", trace_max_buffer_size=ROOM, **changes)


async def spilled(agent: Agent, count: int) -> SignalStatistics:
    """Wait until so many segments are on the disk."""
    backlog: Any = agent.pipelines.channels[Signal.SEGMENT]
    agent.statistics()
    await until(lambda: not backlog.backlog.staged)
    found = agent.statistics().segment
    assert found.spilled == count
    return found


def files_in(path: Path) -> set[str]:
    """All that is left there."""
    return {str(each) for each in path.rglob("*")}


def names(collector: MemoryCollector) -> list[str]:
    return [decode_segment(each).spans[0].operation for each in collector.records[Signal.SEGMENT]]


@covers("D07")
async def test_an_outage_costs_no_record_and_no_order(tmp_path: Path) -> None:
    collector = away()
    async with spilling(collector, tmp_path) as agent:
        record(300)
        found = await spilled(agent, 300 - ROOM)
        assert found.balanced
        assert found.refused == {}
        collector.behaviour = None
        assert await agent.flush(30)
        assert names(collector) == [f"work {number}" for number in range(300)]
    assert agent.statistics().complete
    assert files_in(tmp_path) == set()


@covers("D07")
async def test_what_a_stop_leaves_on_disk_is_said_and_the_next_start_sends_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "swagent")
    async with spilling(away(), tmp_path) as agent:
        record(100)
    found = agent.statistics().segment
    assert found.balanced
    assert (found.spilled, found.queued, found.in_flight) == (100 - ROOM, 0, 0)
    assert f"on disk {100 - ROOM}" in caplog.text
    collector = MemoryCollector()
    async with spilling(collector, tmp_path) as agent:
        await until(lambda: agent.statistics().segment.recovered)
        assert await agent.flush(30)
    assert names(collector) == [f"work {number}" for number in range(ROOM, 100)]
    assert agent.statistics().segment.recovered == 100 - ROOM
    assert f"took over {100 - ROOM} records from disk" in caplog.text
    assert files_in(tmp_path) == set()


async def test_an_agent_of_another_codec_leaves_the_files_where_they_are(tmp_path: Path) -> None:
    async with spilling(away(), tmp_path) as agent:
        record(30)
    files = files_in(tmp_path)

    async with agent_of(MemoryCollector("json"), spill=f"{tmp_path},8MiB") as agent:
        await until(lambda: agent.pipelines.spill is not None and agent.pipelines.spill._found == [])
        assert agent.statistics().segment.recovered == 0
    assert files_in(tmp_path) == files


async def test_the_records_on_disk_are_meters(tmp_path: Path) -> None:
    collector = away()
    async with spilling(collector, tmp_path) as agent:
        meters = LedgerMeters(agent.statistics)
        assert "swagent_records_spilled" not in {each.name for each in meters.collect()}
        record(30)
        await spilled(agent, 30 - ROOM)
        values: dict[str, Any] = {each.name: getattr(each, "value", None) for each in meters.collect()}
        assert values["swagent_records_spilled"] == 30 - ROOM
        collector.behaviour = None
        assert await agent.flush(30)
        values = {each.name: getattr(each, "value", None) for each in meters.collect()}
        assert values["swagent_records_spilled"] == 0


async def test_nothing_is_shed_as_long_as_the_disk_takes_it(tmp_path: Path) -> None:
    room = 3584
    collector = away()
    async with agent_of(collector, spill=f"{tmp_path},8MiB", trace_max_buffer_size=room) as agent:
        record(room + 100)
        assert (await spilled(agent, 100)).refused == {}
        collector.behaviour = None
        assert await agent.flush(30)


async def test_a_path_that_cannot_be_used_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    agent = agent_of(MemoryCollector(), spill=f"{tmp_path / 'file' / 'spill'},8MiB")
    with pytest.raises(ConfigError, match="a folder that this process can write to"):
        await agent.start()


async def test_without_locks_nothing_is_spilled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    async with spilling(MemoryCollector(), tmp_path) as agent:
        assert agent.pipelines.spill is None
    assert "nothing is spilled to disk: this system has no flock" in caplog.text


async def test_a_forked_child_leaves_all_of_it_to_its_parent(tmp_path: Path) -> None:
    collector = away()
    async with spilling(collector, tmp_path) as agent:
        record(30)
        await spilled(agent, 30 - ROOM)
        child = os.fork()
        if not child:
            os._exit(agent.statistics().segment.spilled)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0  # noqa: ASYNC222
        collector.behaviour = None
        assert await agent.flush(30)
    assert names(collector) == [f"work {number}" for number in range(30)]


MODULES = """
import json, sys
from swagent import Config
from swagent.abc import Transport
from swagent.agent import Agent
from swagent.testing import MemoryCollector
import anyio

async def live():
    async with Agent(Config(service="shop", collector="memory:1"), transport=MemoryCollector().transport):
        pass

anyio.run(live)
print(json.dumps([each for each in sys.modules if ".spill" in each and each != "swagent.config.spilling"]))
"""


@pytest.mark.gate
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_the_setting_no_module_of_it_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", MODULES], capture_output=True, text=True, check=True)  # noqa: ASYNC221
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_setting_is_a_folder_and_a_size() -> None:
    assert Config(spill=" /var/spool/a,b , 1GiB ").spill == "/var/spool/a,b , 1GiB"
    assert Config.from_env({"SW_AGENT_SPILL": "/var/spool,8MiB"}).spill == "/var/spool,8MiB"
    assert Config().spill == ""
    for text in ("/tmp", "/tmp,1MiB", "/tmp,256", "tmp,256MiB", "/tmp,256MB", "/tmp,-1MiB", ",8MiB", "/t\nmp,8MiB"):
        with pytest.raises(ConfigError, match="an absolute path and a size of at least 8MiB"):
            Config(spill=text)
