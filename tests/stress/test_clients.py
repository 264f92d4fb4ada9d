"""The choice of libraries: what is reported of the benches, and where they run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from stress import environments
from stress.__main__ import main
from stress.clients.bench import MODULES, benches
from stress.clients.command import Result, render
from stress.clients.kafka import topic_of


def test_a_rate_without_its_delivered_count_is_void() -> None:
    found = [Result("http", "one", 100, 100, 2.0, 0.5, 1 << 20), Result("http", "other", 100, 99, 2.0, 0.5, 1 << 20)]
    assert [bool(each.fault) for each in found] == [False, True]
    _, _, good, void = render(found).splitlines()
    assert "| 50 |" in good
    assert "200" in good
    assert "void: sent 100, delivered 99" in void
    assert "| 50 |" not in void


def test_nothing_delivered_is_void() -> None:
    assert Result("http", "one", 0, 0, 2.0, 0.5, 1).fault


@pytest.mark.parametrize("group", MODULES)
def test_every_group_compares_several(group: str) -> None:
    assert len(benches(group)) >= 3


def test_each_kafka_bench_is_counted_by_itself() -> None:
    topics = [topic_of(name) for name in benches("kafka")]
    assert len(set(topics)) == len(topics)
    assert all(each.isascii() and len(each) < 249 and not set(each) & set(" _,.") for each in topics)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("name", [name for name in benches("handover") if not name.startswith("janus")])
async def test_a_record_that_is_handed_over_is_taken_out(name: str) -> None:
    # the bench itself compares what was handed over with what was taken out
    assert await benches("handover")[name]("", 0.02) > 0


def test_another_environment_for_other_requirements() -> None:
    names = [environments.name_of("x", each) for each in (["a", "b"], ["b", "a"], ["a"], ["a", "b>1"])]
    assert names[0] == names[1]
    assert len(set(names)) == 3


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The environments that were made, where none really is."""
    found: list[Path] = []

    def create(folder: Path, **_: object) -> None:
        found.append(folder)
        folder.mkdir(exist_ok=True)

    monkeypatch.setattr("venv.create", create)
    return found


def test_an_environment_is_made_once(made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", lambda command, **_: subprocess.CompletedProcess(command, 0))
    assert environments.python_with("x", ["a"], tmp_path) == environments.python_with("x", ["a"], tmp_path)
    assert len(made) == 1


def test_one_that_was_interrupted_is_made_again(
    made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[str], **_: object) -> object:
        return subprocess.CompletedProcess(command, 1, stderr="no such thing")

    monkeypatch.setattr("subprocess.run", fail)
    for _ in range(2):
        with pytest.raises(environments.SetupError, match="install a:\nno such thing"):
            environments.python_with("x", ["a"], tmp_path)
    assert len(made) == 2


def test_an_environment_of_another_interpreter_is_made_by_it(
    made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str], **_: object) -> object:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="3.99\n")

    monkeypatch.setattr("subprocess.run", run)
    # its version is asked once in a process
    monkeypatch.setattr(environments, "version_of", environments.version_of.__wrapped__)
    folder = tmp_path / environments.name_of("x", ["a"], "3.99")
    folder.mkdir()
    python = environments.python_with("x", ["a"], tmp_path, "/opt/python3.99")
    assert python == folder / "bin" / "python"
    assert [each[:3] for each in commands[:2]] == [
        ["/opt/python3.99", "-c", commands[0][2]],
        ["/opt/python3.99", "-m", "venv"],
    ]
    assert commands[2][-1] == "a"
    assert made == []


def test_an_interpreter_that_is_not_there_is_named() -> None:
    with pytest.raises(environments.SetupError, match="/no/such/python is no interpreter that runs here"):
        environments.version_of("/no/such/python")


def test_a_command_whose_environment_cannot_be_made_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> object:
        raise environments.SetupError("no index")

    monkeypatch.setattr("stress.clients.command.main", fail)
    assert main(["clients"]) == 2
    assert capsys.readouterr().err == "python -m stress clients: no index\n"


def test_this_code_is_found_there() -> None:
    program = "import stress.clients.records, swagent, swagent_transports, swagent_proto"
    command = [sys.executable, "-S", "-c", "import sys; print(sys.path)"]
    roots = subprocess.run(command, env=environments.with_this_code(), check=True, capture_output=True, text=True)
    subprocess.run([sys.executable, "-c", program], env=environments.with_this_code(), cwd="/", check=True)
    assert str(Path(environments.__file__).parents[1]) in roots.stdout
