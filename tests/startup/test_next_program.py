"""The agent's folder in front of others with a `sitecustomize`, in whatever a process becomes or starts."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from swagent.startup import next_program
from swagent.startup.next_program import lead, with_first

SHOW = [sys.executable, "-c", "import os; print(os.environ['PYTHONPATH'])"]
NEEDS_SPAWN = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="needs os.posix_spawn")


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, str]:
    """The agent's folder, and a path on which another one is in front of it."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for each in (ours, theirs):
        each.mkdir()
        (each / "sitecustomize.py").write_text("")
    return str(ours), os.pathsep.join([str(theirs), "plain", str(ours), "last"])


@pytest.fixture
def leading(paths: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The path that programs are to have, in a process in which `lead` was called."""
    for name in ("execv", "execve", "posix_spawn", "posix_spawnp"):
        monkeypatch.setattr(os, name, getattr(os, name))
    monkeypatch.setattr(os, "supports_fd", {*os.supports_fd})
    monkeypatch.setattr(subprocess.Popen, "_execute_child", subprocess.Popen._execute_child)  # type: ignore[attr-defined]
    lead(paths[0])
    monkeypatch.setenv("PYTHONPATH", paths[1])
    return os.pathsep.join([paths[0], *(each for each in paths[1].split(os.pathsep) if each != paths[0])])


def test_only_what_hides_it_is_moved(paths: tuple[str, str], tmp_path: Path) -> None:
    ours, hidden = paths
    theirs = str(tmp_path / "theirs")
    assert with_first(hidden, ours) == os.pathsep.join([ours, theirs, "plain", "last"])
    for path in ("", theirs, ours, os.pathsep.join([ours, theirs]), os.pathsep.join(["plain", ours, theirs])):
        assert with_first(path, ours) is None


def test_a_child_of_subprocess_has_it_in_front_in_every_form_of_the_call(leading: str) -> None:
    before = dict(os.environ)

    def said(*args: object, **kwargs: object) -> str:
        with subprocess.Popen(*args, **kwargs) as child:  # type: ignore[call-overload]
            out: bytes = child.communicate()[0]
        return out.decode().strip()

    pipe = subprocess.PIPE
    positional = (SHOW, -1, None, None, pipe, None, None, True, False, None)
    as_bytes = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    assert said(SHOW, stdout=pipe) == leading
    assert said(args=SHOW, stdout=pipe, env=None) == leading
    assert said(SHOW, stdout=pipe, env=before) == leading
    assert said(*positional, before) == leading
    assert said(*positional, None) == leading
    assert said(SHOW, stdout=pipe, env=as_bytes) == leading
    assert said(SHOW, stdout=pipe, env={**before, "PYTHONPATH": "plain"}) == "plain"
    assert dict(os.environ) == before


@pytest.mark.parametrize("path", [None, "plain"])
@pytest.mark.parametrize("name", ["nothing", "environ", "environb"])
def test_a_path_that_needs_no_change_is_handed_on_without_a_warning(
    leading: str, path: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[object] = []
    monkeypatch.setattr(next_program, "_note_failure", faults.append)
    if path is None:
        monkeypatch.delenv("PYTHONPATH")
    else:
        monkeypatch.setenv("PYTHONPATH", path)
    environ = getattr(os, name, None)
    subprocess.run([sys.executable, "-S", "-c", ""], check=True, env=environ)
    assert faults == []


@NEEDS_SPAWN
def test_so_has_a_child_of_posix_spawn(leading: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    actions = [(os.POSIX_SPAWN_OPEN, 1, str(out), os.O_WRONLY | os.O_CREAT, 0o600)]
    environ = dict(os.environ)
    child = os.posix_spawn(SHOW[0], SHOW, environ, file_actions=actions)
    assert os.waitpid(child, 0)[1] == 0
    assert out.read_text().strip() == leading
    assert environ == dict(os.environ)


def test_a_program_that_cannot_be_started_changes_nothing(leading: str, paths: tuple[str, str]) -> None:
    environ = dict(os.environ)
    for call in (
        lambda: os.execv("/no/such/program", ["x"]),
        lambda: os.execl("/no/such/program", "x"),
        lambda: os.execve("/no/such/program", ["x"], environ),
        lambda: os.execve(path="/no/such/program", argv=["x"], env=environ),
    ):
        with pytest.raises(FileNotFoundError):
            call()  # type: ignore[no-untyped-call]
    with pytest.raises(TypeError):
        os.execve("/no/such/program", ["x"])  # type: ignore[call-arg]
    assert environ == dict(os.environ)
    # nor the environment below `os.environ`
    assert os.system(f'test "$PYTHONPATH" = "{paths[1]}"') == 0


def test_the_functions_look_as_they_are(leading: str) -> None:
    assert os.execve in os.supports_fd
    assert str(inspect.signature(os.execve)) == "(path, argv, env)"
    assert os.execv.__doc__ == os.execv.__wrapped__.__doc__  # type: ignore[attr-defined]
    # which looks for the caller's frame
    assert subprocess.Popen.__init__.__code__.co_filename == subprocess.__file__
