"""`swagent.testing.collector()`: in tests with and without an event loop, on every loop."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import httpx
import pytest

import swagent
from swagent.agent import Agent
from swagent.collector.server import Collector
from swagent.config import Config
from swagent.instrument import instrument, uninstrument
from swagent.testing import RunningCollector, collector
from swagent.testing.plugin import swagent_collector as swagent_collector

ROOT = Path(__file__).parents[2]
SERVED = """
import anyio
import swagent
from swagent.agent import Agent
from swagent.config import Config

async def main():
    async with Agent(Config.from_env({**__import__("os").environ, "SW_AGENT_NAME": "child"})):
        with swagent.local_span("/child"):
            pass

anyio.run(main)
"""


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.is_alive()}


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_the_records_of_an_agent_are_there(protocol: str) -> None:
    async with collector() as arrived:
        address = arrived.address if protocol == "grpc" else arrived.http_address
        # a busy machine holds the loop, which would be an event, too
        async with Agent(Config(service="shop", collector=address, protocol=protocol, loop_block_limit=0)):
            with swagent.local_span("/order") as span:
                span.tag("item", "lamp")
            await arrived.wait_for(lambda arrived: arrived.spans and arrived.instances)
    [span_] = arrived.spans
    assert (span_.operation, span_.tag("item"), span_.tag("nothing")) == ("/order", "lamp", None)
    [segment] = arrived.segments
    assert segment.service == "shop"
    assert arrived.trace(segment.trace_id) == [segment]
    assert arrived.logs == []
    assert [event.name for event in arrived.events] == ["Start", "Shutdown"]
    assert {meter.service for meter in arrived.meters} <= {"shop"}
    assert [each.service for each in arrived.instances] == ["shop"]


@pytest.mark.gate
@pytest.mark.anyio
async def test_the_collector_s_own_requests_are_not_recorded() -> None:
    instrument("uvicorn")
    try:
        async with (
            collector() as arrived,
            Agent(Config(service="shop", collector=arrived.http_address, protocol="http")) as agent,
        ):
            with swagent.local_span("/order"):
                pass
            await arrived.wait_for(lambda arrived: arrived.spans and arrived.instances)
            await agent.flush()
    finally:
        uninstrument("uvicorn")
    assert [span.operation for span in arrived.spans] == ["/order"]


@pytest.mark.gate
def test_without_an_event_loop(swagent_collector: RunningCollector) -> None:
    environ = {"PYTHONPATH": ":".join(sys.path), **swagent_collector.environ}
    subprocess.run([sys.executable, "-c", SERVED], env=environ, check=True, timeout=30)
    swagent_collector.wait(lambda arrived: arrived.spans)
    assert [segment.service for segment in swagent_collector.segments] == ["child"]
    with pytest.raises(TimeoutError, match=r"0\.01 s; received: 1 segment"):
        swagent_collector.wait(lambda arrived: len(arrived.spans) > 1, timeout=0.01)


@pytest.mark.anyio
async def test_it_is_gone_afterwards_and_its_page_was_there() -> None:
    async with collector(token="sesam") as arrived:
        assert arrived.environ["SW_AGENT_AUTHENTICATION"] == "sesam"
        async with httpx.AsyncClient(trust_env=False) as client:
            status = (await client.get(f"http://{arrived.page_address}/api/status")).json()
        assert status["grpc"] == arrived.address
        assert "swagent-collector" in threads()
    assert "swagent-collector" not in threads()
    arrived.stop()
    host, _, port = arrived.address.rpartition(":")
    with pytest.raises(OSError, match=r"failed"):
        await anyio.connect_tcp(host, int(port))
    gc.collect()  # sockets left open would be said here


@pytest.mark.gate
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in [name for name in sys.modules if name.startswith("swagent.collector")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'swagent\[collector\]'"):
        collector().start()


def test_after_a_start_that_failed_it_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived = collector()
    with monkeypatch.context() as patched:

        async def refuse(_: Collector) -> None:
            raise OSError("no port is free")

        patched.setattr(Collector, "start", refuse)
        with pytest.raises(OSError, match="no port"):
            arrived.start()
    with arrived:
        assert arrived.address
