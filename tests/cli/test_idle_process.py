"""What a process under `swagent run` has of the agent's before there is a need for it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cli.conftest import Run
from kit.servers import collector_thread
from swagent.collector.server import Collector

IDLE = frozenset({
    "swagent",
    "swagent.built_in",
    "swagent.errors",
    "swagent.forks",
    "swagent.launch",
    "swagent.startup",
    "swagent.startup.entry_points",
    "swagent.startup.import_hook",
    "swagent.startup.interpreter_options",
    "swagent.startup.lifetime",
    "swagent.startup.next_program",
    "swagent.startup.processes",
    "swagent.startup.settings",
    "swagent.startup.tables",
})  # fmt: skip
# Of the standard library, beyond those that a bare interpreter has loaded.
STANDARD = frozenset({"__future__", "atexit", "gc", "sitecustomize", "time", "_thread"})
MODULES = "import sys; print(sorted(sys.modules))"
IN_USE = "import os; print(len(os.listdir('/proc/self/task')), len(os.listdir('/proc/self/fd')))"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Without a token: its setting is none of the plainest, for which the configuration is read at once."""
    with collector_thread(Collector()) as (collector, _):
        yield collector


def modules(done: subprocess.CompletedProcess[str]) -> set[str]:
    assert done.returncode == 0, done.stderr
    found: list[str] = ast.literal_eval(done.stdout)
    return set(found)


def bare(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_an_idle_process_has_these_modules_and_no_others(swagent: Run) -> None:
    added = modules(swagent("run", "--", sys.executable, "-c", MODULES)) - modules(bare(MODULES))
    assert {each for each in added if each.partition(".")[0] == "swagent"} == IDLE
    assert added - IDLE <= STANDARD


@pytest.mark.parametrize(
    "settings",
    [
        {"SW_AGENT_NAME": "shop|small", "SW_AGENT_COLLECTOR_BACKEND_SERVICES": "oap-1.shop:11800, 10.0.0.1:11800"},
        {"SW_AGENT_PROTOCOL": "http", "SW_AGENT_BACKEND": "trio", "SW_AGENT_LOGGING_LEVEL": "warning"},
        {"SW_AGENT_PROTOCOL": "kafka", "SW_AGENT_SHUTDOWN_TIMEOUT": "2", "SW_AGENT_FORCE_TLS": "no"},
    ],
)
def test_plain_settings_of_each_protocol_load_nothing_more(swagent: Run, settings: Mapping[str, str]) -> None:
    added = modules(swagent("run", "--", sys.executable, "-c", MODULES, **settings)) - modules(bare(MODULES))
    assert {each for each in added if each.partition(".")[0] == "swagent"} == IDLE


@LINUX
def test_an_idle_process_has_no_thread_and_no_descriptor_of_ours(swagent: Run) -> None:
    assert swagent("run", "--", sys.executable, "-c", IN_USE).stdout == bare(IN_USE).stdout


def test_a_short_process_that_records_nothing_leaves_no_trace(swagent: Run, collector: Collector) -> None:
    code = "import logging, json, subprocess, sys; logging.info('below'); subprocess.run([sys.executable, '-c', ''])"
    done = swagent(
        "run", "--", sys.executable, "-c", code,
        SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address, SW_AGENT_NAME="shop",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert collector.store.instances == []


@pytest.mark.gate
@pytest.mark.parametrize("words", [["-m", "pip", "--version"], ["-m", "compileall", "-q", "."]])
def test_helpers_load_no_instrumentation(swagent: Run, tmp_path: Path, words: list[str]) -> None:
    show = tmp_path / "show"
    show.mkdir()
    (show / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "ours = lambda: [each for each in sys.modules if each.startswith('swagent')]\n"
        "atexit.register(lambda: print(ours(), file=sys.stderr))\n"
    )
    done = swagent("run", "--", sys.executable, *words, PYTHONPATH=str(show))
    assert done.returncode == 0, done.stderr
    loaded = [line for line in done.stderr.splitlines() if "swagent.launch" in line]
    assert loaded, done.stderr
    assert set(ast.literal_eval(loaded[-1])) == IDLE


# -- the first need ---------------------------------------------------------------------------------------------------

RACE = """
import threading
{prepare}
barrier = threading.Barrier(8)

def record(number):
    barrier.wait()
    {record}

threads = [threading.Thread(target=record, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
RACES = [
    RACE.format(prepare="import swagent, sys", record='swagent.entry_span(f"span {number}").start().stop()'),
    RACE.format(
        prepare="import logging; logging.getLogger().addHandler(logging.NullHandler())",
        record='logging.warning("line %d", number)',
    ),
]


@pytest.mark.gate
@pytest.mark.parametrize("backend", ["asyncio", "uvloop", "trio"])
def test_all_records_of_threads_that_race_for_the_first_arrive(
    swagent: Run, collector: Collector, backend: str
) -> None:
    for code in RACES:
        done = swagent(
            "run", "--backend", backend, "--", sys.executable, "-c", code,
            SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address, SW_AGENT_LOGGING_LEVEL="error",
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
    assert sorted(span.operation for each in collector.store.segments for span in each.spans) == [
        f"span {number}" for number in range(8)
    ]
    assert sorted(each.content.rpartition(" - ")[2].strip() for each in collector.store.logs) == [
        f"line {number}" for number in range(8)
    ]
    assert len(collector.store.instances) == 2


AT_EXIT = """
import atexit

def last():
    import swagent
    with swagent.entry_span("last"):
        pass

atexit.register(last)
"""


@pytest.mark.gate
def test_a_first_record_at_the_very_end_arrives(swagent: Run, collector: Collector) -> None:
    done = swagent(
        "run", "--", sys.executable, "-c", AT_EXIT, SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [span.operation for each in collector.store.segments for span in each.spans] == ["last"]


SHORT = """
import sys, swagent
from swagent.runtime import meter_report

meter_report.MEASURED_AFTER = 3600  # as long as no test takes
with swagent.entry_span("short"):
    pass
swagent.stop()
print(sorted(sys.modules))
"""


@pytest.mark.gate
def test_a_short_script_is_spared_the_modules_that_only_longer_lives_need(swagent: Run, collector: Collector) -> None:
    settings = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address, "SW_AGENT_METER_REPORTER_PERIOD": "3600"}
    loaded = modules(swagent("run", "--", sys.executable, "-c", SHORT, **settings))
    assert [span.operation for each in collector.store.segments for span in each.spans] == ["short"]
    assert "swagent_transports._grpclib" in loaded
    assert loaded & {"psutil", "httpx", "aiokafka"} == set()


FORKS = """
import os, swagent

def record(name):
    with swagent.entry_span(name):
        pass

before = os.fork()
if not before:
    record("child before")
    swagent.stop()
    os._exit(0)
os.waitpid(before, 0)
record("parent")
after = os.fork()
if not after:
    record("child after")
    swagent.stop()
    os._exit(0)
os.waitpid(after, 0)
"""


@pytest.mark.gate
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forks_before_and_after_the_first_need_report_for_themselves(swagent: Run, collector: Collector) -> None:
    done = swagent("run", "--", sys.executable, "-c", FORKS, SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address)
    assert done.returncode == 0, done.stderr
    found = {span.operation: each.instance for each in collector.store.segments for span in each.spans}
    assert set(found) == {"child before", "parent", "child after"}
    assert len(set(found.values())) == 3


LIFE = """
import gc, sys, time
gc.disable()

def agents():
    alive = getattr(sys.modules.get("swagent.system_thread"), "alive", set)
    return [each.name for each in alive()]

time.sleep(0.3)
assert agents() == []
{occasion}
while "swagent" not in agents():
    time.sleep(0.01)
"""


@pytest.mark.gate
@pytest.mark.parametrize("occasion", ["gc.collect()", "import colorsys"])
def test_a_script_that_has_lived_for_long_enough_has_an_agent_at_its_next_occasion(
    swagent: Run, collector: Collector, occasion: str
) -> None:
    done = swagent(
        "run", "--", sys.executable, "-c", LIFE.format(occasion=occasion),
        SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address, SW_AGENT_START_AFTER="0.2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(collector.store.instances) == 1


@pytest.mark.gate
def test_where_python_tells_nothing_of_its_garbage_an_import_is_the_occasion(
    swagent: Run, collector: Collector, tmp_path: Path
) -> None:
    """As on PyPy."""
    (tmp_path / "sitecustomize.py").write_text("import gc\ndel gc.callbacks\n")
    done = swagent(
        "run", "--", sys.executable, "-c", LIFE.format(occasion="import colorsys"),
        SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address, SW_AGENT_START_AFTER="0.2", SW_AGENT_NAME="shop",
        PYTHONPATH=str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "has no attribute 'callbacks'" not in done.stderr
    assert [service for service, _ in collector.store.ended()] == ["shop"]


# All of another process, as far as an application can compare it.
SEEN = """
import time
from time import sleep
import builtins, gc, importlib, os, threading, traceback
sleep(0)
print(sleep, type(sleep), sleep is time.sleep, sleep.__self__.__name__)
print(builtins.__import__, importlib.import_module.__module__, os.fork, os._exit, threading.Thread.start.__qualname__)
"""


def test_an_application_sees_the_functions_of_python(swagent: Run) -> None:
    done = swagent("run", "--", sys.executable, "-c", SEEN)
    assert (done.returncode, done.stdout) == (0, bare(SEEN).stdout), done.stderr
    assert done.stdout.startswith("<built-in function sleep>")


METER = "import swagent.meters; swagent.meters.Counter('orders').increment()"
AGENT = "from swagent import Agent"


@pytest.mark.gate
@pytest.mark.parametrize("code", [METER, AGENT])
def test_a_meter_and_the_agents_import_are_needs_of_a_script(swagent: Run, collector: Collector, code: str) -> None:
    done = swagent("run", "--", sys.executable, "-c", code, SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address)
    assert done.returncode == 0, done.stderr
    assert len(collector.store.instances) == 1
