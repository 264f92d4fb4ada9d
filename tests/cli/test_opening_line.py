"""The words of `swagent run` itself, once and on stderr: that a server's agent is there, and the errors in the
settings. The command's own output stays as it is."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Run
from swagent.collector.server import Collector
from swagent.config import Config, environment
from swagent.instrument.opening_line import say_opening

ADDRESS = "127.0.0.1:9"
NAMED = {"SW_AGENT_NAME": "shop", "SW_AGENT_COLLECTOR_BACKEND_SERVICES": ADDRESS, "SW_AGENT_SHUTDOWN_TIMEOUT": "0.1"}

# A server that has one life: it ends as soon as it is up.
APP = """
import asyncio, os, signal, logging
{logging}
async def app(scope, receive, send):
    assert scope["type"] == "lifespan"
    await receive()
    await send({{"type": "lifespan.startup.complete"}})
    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
    await receive()
    await send({{"type": "lifespan.shutdown.complete"}})
"""
UVICORN = (sys.executable, "-m", "uvicorn", "--port", "0", "--log-level", "critical", "shop_app:app")


def _serve(swagent: Run, folder: Path, *command: str, logging: str = "", **environ: str) -> tuple[str, list[str]]:
    """A server's output on stdout, and its lines about its agent on stderr: nothing listens at that address, which is
    warned of as well."""
    (folder / "shop_app.py").write_text(APP.format(logging=logging))
    result = swagent("run", "--", *(command or UVICORN), **{"PYTHONPATH": str(folder), **NAMED, **environ})
    assert "no report to" in result.stderr or "error" in environ.values(), result.stderr
    return result.stdout, [line for line in result.stderr.splitlines() if "reports to" in line]


SCRIPT = "import uvicorn; uvicorn.run('shop_app:app', port=0, log_level='critical')"


@pytest.mark.gate
@pytest.mark.parametrize("command", [UVICORN, (sys.executable, "-c", SCRIPT)], ids=["server", "script that serves"])
def test_a_server_says_once_that_its_agent_is_there(swagent: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    stdout, [line] = _serve(swagent, tmp_path, *command, SW_AGENT_NATIVE="off")
    assert stdout == ""
    assert line.startswith(f"swagent: service 'shop' reports to {ADDRESS} over grpc; recorded so far: ")
    assert "uvicorn" in line
    assert "; recorded by Python (SW_AGENT_NATIVE is off) (" in line


@pytest.mark.gate
@pytest.mark.parametrize("level", ["warning", "error"])
def test_the_level_of_the_agents_lines_leaves_it_out(swagent: Run, tmp_path: Path, level: str) -> None:
    assert _serve(swagent, tmp_path, SW_AGENT_LOGGING_LEVEL=level) == ("", [])


@pytest.mark.gate
def test_where_the_application_handles_info_the_line_goes_there(swagent: Run, tmp_path: Path) -> None:
    handled = "logging.basicConfig(level='INFO', format='handled: %(message)s')"
    stdout, lines = _serve(swagent, tmp_path, logging=handled)
    assert stdout == ""
    assert [line.partition(" reports to ")[0] for line in lines] == ["handled: service 'shop'"]


@pytest.mark.gate
def test_a_program_that_is_no_server_says_nothing(swagent: Run) -> None:
    code = "import swagent\nwith swagent.entry_span('job'): print('done')"
    result = swagent("run", "--", sys.executable, "-c", code, **NAMED)
    assert result.stdout == "done\n"
    assert "swagent stopped for shop" in result.stderr, "the agent was there"
    assert "reports to" not in result.stderr


def test_a_closed_stderr_is_not_replaced_by_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [logging.NullHandler()])
    config = Config(service="shop", collector=ADDRESS)
    for broken in (None, io.StringIO()):
        if broken is not None:
            broken.close()
        monkeypatch.setattr(sys, "stderr", broken)
        say_opening(config)
    monkeypatch.undo()
    assert capsys.readouterr() == ("", "")


# The command starts another interpreter, and reads the settings once more.
TWICE = """
import subprocess, sys
from swagent import Config, instrument
instrument.instrument()
Config.from_env()
subprocess.run([sys.executable, "-c", "pass"], check=True)
"""


@pytest.mark.gate
def test_an_unknown_variable_is_questioned_once(swagent: Run) -> None:
    result = swagent("run", "--", sys.executable, "-c", TWICE, SW_AGENT_NAMME="x", **NAMED)
    assert [line for line in result.stderr.splitlines() if "NAMME" in line] == [
        "the environment variable SW_AGENT_NAMME is not known; did you mean SW_AGENT_NAME?"
    ]
    assert result.stdout == ""


def test_without_swagent_run_it_is_questioned_once_too(monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[str] = []
    monkeypatch.setattr(environment, "_said", set[str]())
    monkeypatch.setattr(environment.log, "warning", lambda message, *args: records.append(message % args))
    monkeypatch.setenv("SW_X", "1")
    for _ in range(2):
        Config.from_env()
    assert records == ["the environment variable SW_X is not known"]


@pytest.mark.gate
def test_a_service_without_a_name_is_warned_of_once(swagent: Run) -> None:
    unnamed = {name: value for name, value in NAMED.items() if name != "SW_AGENT_NAME"}
    result = swagent("run", "--", sys.executable, "-c", TWICE, **unnamed)
    assert [line for line in result.stderr.splitlines() if "no name" in line] == [
        "this service has no name and reports as 'Python Service Name': set SW_AGENT_NAME, or service= in code"
    ]
    assert result.stdout == ""
    assert swagent("run", "--", sys.executable, "-c", TWICE, SW_AGENT_LOGGING_LEVEL="error", **unnamed).stderr == ""


@pytest.mark.gate
def test_without_swagent_run_the_first_agent_of_a_process_warns_of_it(swagent: Run, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import swagent\nfor _ in range(2):\n    swagent.start(); swagent.stop()\n")
    result = swagent("run", "--", sys.executable, str(script), **NAMED)
    assert "no name" not in result.stderr
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SW_")}
    environ |= {name: value for name, value in NAMED.items() if name != "SW_AGENT_NAME"}
    command = [sys.executable, str(script)]
    alone = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert alone.stderr.count("this service has no name") == 1


@pytest.mark.gate
@pytest.mark.parametrize(("level", "is_heard"), [({}, False), ({"SW_AGENT_LOGGING_LEVEL": "info"}, True)])
def test_a_program_that_prints_what_logging_gets_prints_nothing_of_ours(
    swagent: Run, collector: Collector, level: dict[str, str], is_heard: bool
) -> None:
    code = "import logging, sys\nlogging.basicConfig(level='INFO', stream=sys.stdout, format='%(message)s')"
    named = {
        "SW_AGENT_NAME": "shop",
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address,
        "SW_AGENT_AUTHENTICATION": "sesame",
    }
    result = swagent("run", "--", sys.executable, "-c", f"{code}\nlogging.warning('done')", **named, **level)
    assert "done" in result.stdout.splitlines()
    assert ("swagent stopped for shop" in result.stdout) is is_heard
    assert is_heard or (result.stdout, result.stderr) == ("done\n", "")
