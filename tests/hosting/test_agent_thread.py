"""The agent in a thread of its own: for hosts without an event loop."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterator

import anyio
import pytest
import sniffio

import swagent
from runtime.worlds import config, outcome, record
from swagent import AgentStateError, ConfigError, system_thread
from swagent.hosting import agent_thread
from swagent.signals import Signal
from swagent.system_thread import SystemThread
from swagent.testing import MemoryCollector

BACKENDS = ["auto", "asyncio", "uvloop", "trio"]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryCollector]:
    """A collector behind whatever protocol is configured; no agent is left running."""
    collector = MemoryCollector()
    monkeypatch.setattr("swagent.agent.find_transport", lambda _: collector.transport)
    yield collector
    swagent.stop()
    assert agent_thread.running() is None
    assert not [each for each in system_thread.alive() if each.name == "swagent"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_reports_on_the_loop_that_was_chosen_while_the_host_blocks(collector: MemoryCollector, backend: str) -> None:
    arrived, loops = threading.Event(), set[str]()

    async def look() -> None:
        library = sniffio.current_async_library()
        loops.add(library if library == "trio" else type(asyncio.get_running_loop()).__module__.partition(".")[0])
        if collector.properties:
            arrived.set()

    collector.behaviour = look
    agent = swagent.start(config(backend=backend))
    record(512)
    assert arrived.wait(5)
    statistics = swagent.stop()
    assert statistics is not None
    assert statistics.complete
    assert collector.count(Signal.SEGMENT) == 512
    assert outcome(agent) == {"confirmed": 512}
    assert loops == {"uvloop" if backend == "auto" else backend}


def test_records_of_its_loop_are_not_reported(
    collector: MemoryCollector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def hold_the_loop() -> None:
        time.sleep(0.15)  # noqa: ASYNC251  (what asyncio complains of in its debug mode)
        logging.getLogger("asyncio").warning("said by a library in the loop")

    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    collector.behaviour = hold_the_loop
    swagent.start(config(backend="asyncio", log_reporter_active=True))
    logging.getLogger("application").warning("of the application")
    swagent.stop()
    assert {each.getMessage() for each in caplog.records if each.name == "asyncio"} == {"said by a library in the loop"}
    assert collector.count(Signal.LOG) == 1, "the application's own is reported"


def test_a_system_without_a_thread_to_spare_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: SystemThread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(SystemThread, "start", refuse)
    with pytest.raises(AgentStateError, match="no thread for the agent: can't start new thread"):
        swagent.start(config())
    assert agent_thread.running() is None
    assert swagent.stop() is None


def test_stopping_what_does_not_run_does_nothing(collector: MemoryCollector) -> None:
    assert swagent.stop() is None
    swagent.start(config())
    assert swagent.stop() is not None
    assert swagent.stop() is None


def test_a_bad_setting_raises_from_start_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="protocol"):
        swagent.start(config(protocol="pigeon"))
    assert agent_thread.running() is None
    assert swagent.stop() is None


def test_a_loop_that_is_not_installed_is_a_bad_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with pytest.raises(ConfigError, match="uvloop"):
        swagent.start(config(backend="uvloop"))
    assert agent_thread.running() is None


def test_stopping_keeps_its_deadline(collector: MemoryCollector) -> None:
    async def hang() -> None:
        await anyio.sleep_forever()

    collector.behaviour = hang
    agent = swagent.start(config(shutdown_timeout=0.2))
    record(3)
    stopped = threading.Thread(target=swagent.stop)
    stopped.start()
    stopped.join(2)
    assert not stopped.is_alive()
    assert outcome(agent) == {"dropped shutdown": 3}
