"""The folder for injection, and two applications of its table; `make test-inject` runs all of them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from injection.applications import HERE, run
from injection.folder import PACKAGE, ROOT, BuildError, build
from interpreters.place import Machine, UnavailableError
from ways.rows import Row, read_table
from ways.run import is_wrong, report

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TABLE = read_table(HERE / "table.toml")
# Imports all that an agent imports, and prints the modules that are from elsewhere.
_IMPORT = f"""
import sys
from swagent.hosting import agent_thread
from swagent.cli import doctor
from swagent.instrument import gate
import swagent_transports.grpc, swagent_transports.http, swagent_transports.otlp, swagent_transports.otlp_http
import {PACKAGE}.anyio._backends._asyncio, {PACKAGE}.certifi
print({PACKAGE}.certifi.where())
print(sorted({{name.partition(".")[0] for name in sys.modules if name.partition(".")[0] in {{names}}}}))
"""


@pytest.fixture(scope="module")
def injected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("injection") / "inject"
    build(folder)
    return folder


def test_a_folder_with_files_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("today")
    with pytest.raises(BuildError, match="name a new folder"):
        build(tmp_path)
    assert (tmp_path / "diary.txt").read_text() == "today"


def test_the_agent_imports_nothing_that_an_application_pins(injected: Path) -> None:
    names = sorted(each.stem for each in (injected / PACKAGE).iterdir() if each.stem != "sniffio")
    done = _python(["-S", "-c", _IMPORT.replace("{names}", repr(names))], injected)
    assert done.stderr == ""
    where, foreign = done.stdout.splitlines()
    assert where == str(injected / PACKAGE / "certifi" / "cacert.pem")
    assert foreign == "[]"


def test_each_distribution_has_its_licence(injected: Path) -> None:
    pins = (HERE / "vendored.txt").read_text().splitlines()
    names = {each.partition("==")[0].replace("-", "_") for each in pins if "==" in each}
    licences = injected / PACKAGE / "licences"
    assert {each.name for each in licences.iterdir()} == names
    assert all((licences / each / "METADATA").exists() for each in names)


def test_a_copy_by_the_command_of_the_image_is_used_as_it_is(injected: Path, tmp_path: Path) -> None:
    (command,) = (
        line.removeprefix("CMD ")
        for line in (ROOT / "Containerfile").read_text().splitlines()
        if line.startswith("CMD")
    )
    target = tmp_path / "volume"
    target.mkdir()
    places = {"/swagent/.": f"{injected}/.", "/opt/swagent": str(target)}
    words = [places.get(each, each) for each in shlex.split(command.strip("[]").replace(",", " "))]
    subprocess.run(words, check=True)
    before = sorted(target.rglob("*"))
    done = _python(["-c", "import swagent, swagent_vendored.httpx; print(swagent.__file__)"], target)
    assert (done.stdout.strip(), done.stderr) == (str(target / "swagent" / "__init__.py"), "")
    # the bytecode is used: none is written
    assert sorted(target.rglob("*")) == before


def test_a_setting_that_cannot_be_used_leaves_the_program_alone(injected: Path) -> None:
    done = _python(["-c", "print('still here')"], injected, {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": "nonsense"})
    assert (done.stdout, done.returncode) == ("still here\n", 0)
    assert done.stderr.startswith("swagent: this process runs without the agent: SW_AGENT_COLLECTOR_BACKEND_SERVICES")
    assert done.stderr.count("\n") == 1


def test_a_python_that_is_too_old_is_left_alone(injected: Path) -> None:
    try:
        python = Machine().find("3.9").command
    except UnavailableError as reason:
        pytest.skip(str(reason))
    done = _python(["-c", "print('still here')"], injected, python=python)
    assert (done.stdout, done.returncode) == ("still here\n", 0)
    assert done.stderr == "swagent: this process runs without the agent: Python 3.10 or later is needed\n"


@pytest.mark.parametrize("row", [each for each in TABLE.rows if each.quick], ids=lambda row: row.name)
def test_an_application_with_other_pins_is_the_same_with_the_agent(row: Row, injected: Path, tmp_path: Path) -> None:
    judged = run(TABLE, row, injected, tmp_path)
    if judged.not_run:
        pytest.skip(judged.not_run)
    assert not is_wrong(row, judged), "\n".join(report(row, judged))


def _python(
    arguments: list[str], injected: Path, more: Mapping[str, str] | None = None, python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("SW_", "PYTHON", "COV"))}
    environ |= {"PYTHONPATH": str(injected), **(more or {})}
    # elsewhere than here: Python looks for modules in its working folder, too
    folder = injected.parent
    return subprocess.run([python, *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False)
