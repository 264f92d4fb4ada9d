"""The agent in a thread of its own: for hosts without an event loop."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
import sniffio

import swagent
from runtime.worlds import config, outcome, record
from swagent import AgentStateError, ConfigError
from swagent.hosting import agent_thread
from swagent.record.trace import tracer as tracers
from swagent.signals import Signal
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
    assert not [each for each in threading.enumerate() if each.name == "swagent"]


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

    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    collector.behaviour = hold_the_loop
    swagent.start(config(backend="asyncio", log_reporter_active=True))
    logging.getLogger("application").warning("of the application")
    swagent.stop()
    assert [each for each in caplog.records if each.name == "asyncio" and "took" in each.getMessage()]
    assert collector.count(Signal.LOG) == 1, "the application's own is reported"


def test_a_system_without_a_thread_to_spare_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(AgentStateError, match="no thread for the agent: can't start new thread"):
        swagent.start(config())
    assert agent_thread.running() is None
    assert swagent.stop() is None


def test_stopping_what_does_not_run_does_nothing(collector: MemoryCollector) -> None:
    assert swagent.stop() is None
    swagent.start(config())
    assert swagent.stop() is not None
    assert swagent.stop() is None


@pytest.mark.gate
def test_it_can_be_started_again(collector: MemoryCollector) -> None:
    for _ in range(20):
        swagent.start(config())
        record()
        swagent.stop()
    assert collector.count(Signal.SEGMENT) == 20
    assert tracers.running() is None


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


def test_many_threads_record_while_it_runs(collector: MemoryCollector) -> None:
    agent = swagent.start(config(trace_max_buffer_size=100_000))
    threads = [threading.Thread(target=record, args=(500,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    swagent.stop()
    assert outcome(agent) == {"confirmed": 4000}


PREPARED = """
import sys
from swagent.testing import MemoryCollector
from swagent.signals import Signal
import swagent, swagent.agent
collector = MemoryCollector()
swagent.agent.find_transport = lambda _: collector.transport
"""


def run_script(body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(PREPARED + textwrap.dedent(body))
    command = [sys.executable, "-X", "dev", str(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.gate
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("ending", ["pass", "sys.exit(3)"])
def test_a_script_that_ends_without_stopping_delivers(tmp_path: Path, backend: str, ending: str) -> None:
    finished = run_script(
        f"""
        import atexit
        atexit.register(lambda: print("delivered", collector.count(Signal.SEGMENT)))  # runs after the agent's own
        swagent.start(swagent.Config(service="script", backend="{backend}"))
        with swagent.local_span("work"):
            pass
        {ending}
        """,
        tmp_path,
    )
    assert finished.stdout == "delivered 1\n"
    assert "Traceback" not in finished.stderr, finished.stderr
    assert "Warning" not in finished.stderr, finished.stderr


@pytest.mark.gate
def test_a_script_inside_a_loop_that_forgets_the_agent_still_ends(tmp_path: Path) -> None:
    finished = run_script(
        """
        import asyncio
        async def main():
            agent = swagent.Agent(swagent.Config(service="script", shutdown_timeout=0.2), transport=collector.transport)
            await agent.__aenter__()
            with swagent.local_span("work"):
                pass
            await asyncio.sleep(0)
        asyncio.run(main())
        print("ended")
        """,
        tmp_path,
    )
    assert finished.stdout == "ended\n", "asyncio complains on stderr, but nothing hangs"
