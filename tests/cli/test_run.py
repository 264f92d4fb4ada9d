"""`swagent run` puts the agent into a command that knows nothing of it; `swagent config` prints the table."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from cli.conftest import Run
from swagent import cli as cli_package
from swagent.cli import main
from swagent.collector.server import Collector

SCRIPT = """
import swagent
with swagent.entry_span("job"), swagent.local_span("step"):
    print("trace", swagent.current_trace_id())
"""


@pytest.mark.gate
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


def test_a_file_that_cannot_be_started_has_the_status_of_a_shell(swagent: Run, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("print('ran')")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "lost").chmod(0o755)
    (tmp_path / "folder").mkdir()
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    for command, sentence in {
        "./app.py": "./app.py: Permission denied; make it executable (chmod +x ./app.py), or name its interpreter",
        "app.py": "app.py: Permission denied; make it executable (chmod +x app.py), or name its interpreter",
        "./lost": "./lost: No such file or directory; the interpreter that its first line names is not there",
        "./folder": "./folder: Permission denied",
    }.items():
        result = swagent("run", "--", command, PATH=path)
        assert result.returncode == 126, command
        assert f"swagent run: {sentence}" in result.stderr
    assert swagent("run", "--", "./absent").returncode == 127


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
    for command in ([other_python, "-c", "print('ran')"], ["sh", "-c", f"exec {other_python} -c \"print('ran')\""]):
        result = swagent("run", "--", *command)
        assert result.returncode == 2
        assert result.stdout == ""
        assert f"the command runs {other_python}" in result.stderr
        assert "which cannot use swagent: No module named 'swagent'. Install swagent into its env" in result.stderr
        assert "Traceback" not in result.stderr


def test_a_step_of_a_script_in_another_environment_runs_without_the_agent(
    swagent: Run, other_python: str, tmp_path: Path
) -> None:
    script = tmp_path / "entrypoint.sh"
    observed = "import sys; print('observed' if 'swagent' in sys.modules else 'alone')"
    script.write_text(
        f'#!/bin/sh\n{other_python} -c "{observed}"\n{other_python} -I -c "{observed}"\n'
        f'{sys.executable} -c "{observed}"\nexit 3\n'
    )
    script.chmod(0o755)
    result = swagent("run", "--", "./entrypoint.sh")
    assert (result.returncode, result.stdout) == (3, "alone\nalone\nobserved\n")
    [sentence] = [line for line in result.stderr.splitlines() if "cannot use swagent" in line]
    assert sentence.endswith("This process runs without the agent")


def test_a_program_that_the_command_starts_may_be_of_another_environment(swagent: Run, other_python: str) -> None:
    code = f"import subprocess; subprocess.run([{other_python!r}, '-c', \"print('ran')\"], check=True)"
    result = swagent("run", "--", sys.executable, "-c", code)
    assert (result.returncode, result.stdout) == (0, "ran\n")
    assert "swagent run" not in result.stderr


NAMES = """
import asyncio, concurrent.futures, threading, time

async def main():
    await asyncio.sleep(0.2)  # the agent has begun its own tasks
    with concurrent.futures.ThreadPoolExecutor() as pool:
        thread = await asyncio.get_running_loop().run_in_executor(pool, lambda: threading.current_thread().name)
    return asyncio.current_task().get_name(), asyncio.create_task(asyncio.sleep(0)).get_name(), thread

time.sleep(0.2)
print(asyncio.run(main()), threading.Thread(target=print).name)
"""


@pytest.mark.gate
@pytest.mark.parametrize("backend", ["asyncio", "uvloop", "trio"])
def test_tasks_and_threads_have_the_names_that_they_have_without_the_agent(
    swagent: Run, collector: Collector, backend: str
) -> None:
    result = swagent(
        "run", "--backend", backend, "--", sys.executable, "-c", NAMES,
        SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address,
    )  # fmt: skip
    bare = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, check=True)
    assert result.stdout == bare.stdout == "('Task-1', 'Task-2', 'ThreadPoolExecutor-0_0') Thread-1 (print)\n"


@pytest.mark.parametrize(
    "options",
    [
        "-I", "-S", "-uE", "-IBs", "-W error -I", "-X dev -I", "-X utf8 -E", "-W ignore -S", "-Werror -I", "-X= -E",
        "-Xdev -S", "-BW error -I", "--check-hash-based-pycs default -I",
    ],
)  # fmt: skip
@pytest.mark.parametrize("program", ["app.py", "-c pass", "-m app", "-"])
def test_an_interpreter_that_looks_nowhere_is_refused(
    options: str, program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.execvpe", lambda *_: pytest.fail("it was started without the agent"))
    assert main(["run", "--", sys.executable, *options.split(), *program.split()]) == 2
    assert f"with {options.split()[-1]} Python ignores its environment" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    ["-W -I", "-W error", "-X importtime=E", "-WI", "-XS", "-Bu", "--check-hash-based-pycs -I", "-c -I", "-m -S"],
)
def test_an_argument_that_only_looks_like_such_an_option_passes(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("os.execvpe", lambda _, argv, __: started.append(argv))
    command = [sys.executable, *options.split(), "app.py", "-I"]
    main(["run", "--", *command])
    assert started == [command]


def _old_pythons() -> list[str]:
    """Those that are older than swagent can use, of the system and of pyenv."""
    found = [shutil.which(f"python{version}") for version in ("2.7", "3.6", "3.8")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/[23].[2-9].*/bin/python")
    # a shim of pyenv's may name a version that is not chosen
    return [each for each in [*filter(None, found), *map(str, pyenv)] if "shims" not in each]


OLD = """
import subprocess, sys
for python in sys.argv[1:]:
    child = subprocess.run([python, "-c", "print('ran')"], capture_output=True, text=True)
    assert (child.returncode, child.stdout, child.stderr) == (0, "mine\\nran\\n", ""), (python, child)
"""


@pytest.mark.gate
@pytest.mark.skipif(not _old_pythons(), reason="no Python here that is too old for swagent")
def test_a_python_that_is_too_old_is_left_alone_without_a_word(swagent: Run, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    result = swagent("run", "--", sys.executable, "-c", OLD, *_old_pythons(), PYTHONPATH=str(tmp_path))
    assert result.returncode == 0, result.stderr


@pytest.mark.gate
@pytest.mark.skipif(not _old_pythons(), reason="no Python here that is too old for swagent")
def test_a_command_of_a_python_that_is_too_old_is_refused_with_a_sentence(swagent: Run) -> None:
    for python in _old_pythons():
        result = swagent("run", "--", python, "-c", "print('ran')")
        assert (result.returncode, result.stdout) == (2, "")
        *before, refusal = result.stderr.splitlines()
        assert refusal.startswith(f"swagent run: the command runs {python}"), result.stderr
        assert all("this service has no name" in line for line in before)


def test_the_bootstrap_is_written_in_what_every_python_reads() -> None:
    """Even where no old Python is at hand."""
    source = (Path(cli_package.__file__).parent / "bootstrap" / "sitecustomize.py").read_text()
    kinds = {type(each) for each in ast.walk(ast.parse(source))}
    assert not kinds & {ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal, ast.AsyncFunctionDef, ast.YieldFrom}
    functions = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef)]
    assert functions
    assert all(each.returns is None for each in functions)
    assert not any(argument.annotation for each in functions for argument in each.args.args)


@pytest.mark.gate
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


@pytest.mark.gate
def test_one_line_says_what_records_and_what_is_left_out(swagent: Run) -> None:
    settings = {"SW_AGENT_DISABLE_PLUGINS": "sw_http_s.*,uvicorn", "SW_AGENT_LOGGING_LEVEL": "info"}
    result = swagent("run", "--", sys.executable, "-c", ANNOUNCED, **settings)
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


@pytest.mark.gate
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


@pytest.mark.gate
@pytest.mark.parametrize("first", ["opentelemetry.propagate", "opentelemetry.trace", "opentelemetry.baggage"])
def test_the_bridge_is_there_whatever_is_imported_first(first: str, swagent: Run) -> None:
    # the propagators import the tracers, and the tracers nothing of the propagators
    code = f"import {first}; from opentelemetry import propagate; print(propagate.get_global_textmap())"
    result = swagent("run", "--", sys.executable, "-c", code)
    assert "swagent.opentelemetry.propagator" in result.stdout
    assert "not bridged" not in result.stderr


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


SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

there = interpreters.create()
interpreters.run_string(there, "import logging, time; time.sleep(1.1); import colorsys; logging.warning('there')")
interpreters.destroy(there)
print("done")
"""


@pytest.mark.gate
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy has none")
def test_a_sub_interpreter_is_left_alone(swagent: Run, collector: Collector) -> None:
    done = swagent(
        "run", "--", sys.executable, "-c", SUB_INTERPRETER,
        SW_AGENT_NAME="shop", SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "there" in done.stderr
    assert "Traceback" not in done.stderr
    assert not collector.store.logs
