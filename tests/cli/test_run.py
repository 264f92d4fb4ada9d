"""`swagent run` puts the agent into a command that knows nothing of it; `swagent config` prints the table."""

from __future__ import annotations

import sys
import venv
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


@pytest.fixture(scope="module")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment in which swagent is not."""
    folder = tmp_path_factory.mktemp("other")
    venv.create(folder, symlinks=True)
    return str(folder / "bin" / "python")


def test_an_environment_without_swagent_is_refused_with_a_sentence(swagent: Run, other_python: str) -> None:
    for command in ([other_python, "-c", "print('ran')"], ["sh", "-c", f"{other_python} -c \"print('ran')\""]):
        result = swagent("run", "--", *command)
        assert result.returncode == 2
        assert result.stdout == ""
        assert f"the command runs {other_python}" in result.stderr
        assert "which cannot use swagent: No module named 'swagent'. Install swagent into its env" in result.stderr
        assert "Traceback" not in result.stderr


def test_what_the_command_starts_may_be_of_another_environment(swagent: Run, other_python: str) -> None:
    code = f"import subprocess; subprocess.run([{other_python!r}, '-c', \"print('ran')\"], check=True)"
    result = swagent("run", "--", sys.executable, "-c", code)
    assert (result.returncode, result.stdout) == (0, "ran\n")
    assert "swagent run" not in result.stderr


@pytest.mark.parametrize("option", ["-I", "-S", "-uE"])
def test_an_interpreter_that_looks_nowhere_is_refused(swagent: Run, option: str) -> None:
    result = swagent("run", "--", sys.executable, option, "-c", "print('ran')")
    assert result.returncode == 2
    assert f"with {option} Python ignores its environment" in result.stderr
    assert result.stdout == ""


def test_options_that_only_look_alike_pass(swagent: Run) -> None:
    result = swagent("run", "--", sys.executable, "-W", "ignore", "-c", "import sys; print(sys.argv)", "-E", "-S")
    assert result.stdout == "['-c', '-E', '-S']\n"


def test_a_file_of_the_project_is_read_and_its_mistakes_stop_it(swagent: Run, tmp_path: Path) -> None:
    (tmp_path / "swagent.toml").write_text('service = "from a file"')
    code = "from swagent.agent import running; print(running().config.service)"
    assert swagent("run", "--", sys.executable, "-c", code).stdout == "from a file\n"
    (tmp_path / "swagent.toml").write_text('servce = "from a file"')
    result = swagent("run", "--", sys.executable, "-c", code)
    assert result.returncode == 2
    assert "swagent.toml: servce=" in result.stderr


ANNOUNCED = """
import logging, sys
logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
import swagent
swagent.stop()
import http.server, wsgiref.simple_server
swagent.start()
"""


def test_one_line_says_what_records_and_what_is_left_out(swagent: Run) -> None:
    result = swagent("run", "--", sys.executable, "-c", ANNOUNCED, SW_AGENT_DISABLE_PLUGINS="sw_http_s.*,uvicorn")
    [line] = [each for each in result.stdout.splitlines() if each.startswith("recorded by themselves: ")]
    recorded, _, left_out = line.partition("; left out: ")
    assert recorded.endswith("(native)")
    assert "wsgiref" in recorded
    assert "http_server (switched off: by SW_AGENT_DISABLE_PLUGINS: sw_http_s.*)" in left_out
    assert "uvicorn (switched off: by SW_AGENT_DISABLE_PLUGINS: uvicorn)" in left_out


OTHERS_SPANS = """
from concurrent.futures import ThreadPoolExecutor
import swagent
from opentelemetry import trace

def work():
    with trace.get_tracer("library").start_as_current_span("theirs"):
        pass

with swagent.entry_span("job"), ThreadPoolExecutor(1) as pool:
    pool.submit(work).result()
"""


@pytest.mark.parametrize(
    ("environ", "traces"),
    [
        ({}, [["job", "theirs"]]),
        ({"SW_AGENT_DISABLE_PLUGINS": "opentelemetry"}, [["job"]]),
        ({"SW_AGENT_PROPAGATE_THREADS": "false"}, [["job"], ["theirs"]]),
    ],
    ids=["by itself", "without the bridge", "without threads"],
)
def test_spans_of_opentelemetry_in_threads_belong_to_the_trace(
    environ: dict[str, str], traces: list[list[str]], swagent: Run, collector: Collector, tmp_path: Path
) -> None:
    script = tmp_path / "job.py"
    script.write_text(OTHERS_SPANS)
    environ = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address, "SW_AGENT_AUTHENTICATION": "sesame", **environ}
    result = swagent("run", "--", sys.executable, str(script), **environ)
    assert result.returncode == 0, result.stderr
    store = collector.store
    found = [[span.operation for segment in store.trace(each) for span in segment.spans] for each in store.trace_ids]
    assert sorted(sorted(trace) for trace in found) == traces


def test_doctor_tells_of_the_bridge(swagent: Run) -> None:
    told = swagent("doctor", "--no-network", SW_AGENT_DISABLE_PLUGINS="opentelemetry").stdout
    assert "the bridge is switched off by SW_AGENT_DISABLE_PLUGINS" in told


@pytest.mark.parametrize(
    ("environ", "interval"),
    [
        ({}, "2"),
        ({"SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL": "20"}, "20"),
        ({"SW_AGENT_COLLECTOR_BACKEND_SERVICES": "127.0.0.1:11800,[::1]:11800"}, "2"),
        ({"SW_AGENT_COLLECTOR_BACKEND_SERVICES": "127.0.0.1:11800,oap.example:11800"}, "None"),
    ],
)
def test_a_collector_on_this_machine_is_asked_for_profiles_often(
    swagent: Run, environ: dict[str, str], interval: str
) -> None:
    code = "import os; print(os.environ.get('SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL'))"
    assert swagent("run", "--", "env", sys.executable, "-S", "-c", code, **environ).stdout == f"{interval}\n"
