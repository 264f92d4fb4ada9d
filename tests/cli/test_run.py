"""`swagent run` puts the agent into a command that knows nothing of it; `swagent config` prints the table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.conftest import Run
from swagent.collector.server import Collector

SCRIPT = """
import swagent
with swagent.entry_span("job"), swagent.local_span("step"):
    print("trace", swagent.current_trace_id())
"""


@pytest.mark.parametrize("backend", ["asyncio", "uvloop", "trio"])
def test_a_script_under_it_delivers_its_trace(swagent: Run, collector: Collector, tmp_path: Path, backend: str) -> None:
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)
    result = swagent(
        "run", "--backend", backend, "--", sys.executable, str(script),
        SW_AGENT_AUTHENTICATION="sesame", SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    (segment,) = collector.store.segments
    assert result.stdout.split() == ["trace", segment.trace_id]
    assert {span.operation for span in segment.spans} == {"job", "step"}


def test_the_commands_own_exit_status_and_arguments_come_through(swagent: Run) -> None:
    result = swagent("run", "--", sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(7)", "a b", "--c")
    assert result.returncode == 7
    assert result.stdout == "['a b', '--c']\n"


def test_a_sitecustomize_of_the_applications_own_still_runs(swagent: Run, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    result = swagent("run", "--", sys.executable, "-c", "print('app')", PYTHONPATH=str(tmp_path))
    # once in the process of `swagent run` itself, and once, before the command, in the process that it becomes
    assert result.stdout == "mine\nmine\napp\n"


def test_a_wrong_setting_stops_it_before_the_command_runs(swagent: Run) -> None:
    result = swagent("run", "--", sys.executable, "-c", "print('ran')", SW_AGENT_SHUTDOWN_TIMEOUT="soon")
    assert result.returncode == 2
    assert "SW_AGENT_SHUTDOWN_TIMEOUT='soon'" in result.stderr
    assert result.stdout == ""


def test_no_command_and_a_command_that_does_not_exist_are_named(swagent: Run) -> None:
    assert swagent("run").returncode == 2
    result = swagent("run", "--", "no-such-command")
    assert result.returncode == 127
    assert "no-such-command" in result.stderr


def test_the_option_table_is_the_page_of_the_documentation(swagent: Run) -> None:
    page = Path(__file__).parents[2] / "docs" / "options.md"
    assert swagent("config", "--markdown").stdout == page.read_text(), "run: make generate"
    assert "SW_AGENT_NAME (in code: service)" in swagent("config").stdout
