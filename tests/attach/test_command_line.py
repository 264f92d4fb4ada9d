"""What the commands say where they cannot do it, and the times that they read."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from swagent import attached, cli
from swagent.cli import remote_execution
from swagent.cli.attach import seconds
from swagent.ledger import SignalStatistics
from swagent.signals import Signal


@pytest.mark.parametrize(("text", "expected"), [("60s", 60.0), ("90", 90.0), ("1.5m", 90.0), ("2h", 7200.0)])
def test_a_time_is_in_seconds(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "1d", "s", "nan"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        seconds(text)


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command says that fails, where this Python could reach others."""
    monkeypatch.setattr(sys, "remote_exec", lambda *_: None, raising=False)

    def refused(pid: object, command: str = "attach") -> str:
        assert cli.main([command, str(pid)]) == 1
        return capsys.readouterr().err

    return refused


@pytest.mark.parametrize("command", ["attach", "detach"])
def test_an_older_python_is_named(command: str, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]) -> None:
    monkeypatch.delattr(sys, "remote_exec")
    said = f"Python 3.14 or later is needed for it, and this is Python {sys.version_info[0]}.{sys.version_info[1]}\n"
    assert refusal(os.getpid(), command) == f"swagent {command}: {said}"


def test_a_process_that_is_not_there_or_cannot_be_is_named(refusal: Callable[..., str]) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    assert refusal(ended.pid) == f"swagent attach: there is no process {ended.pid}\n"
    number = "99999999999999999999"
    assert f"swagent attach: process {number} cannot be reached: " in refusal(number)


@pytest.mark.skipif(not os.path.exists("/proc/self/exe"), reason="the version is read from /proc")
@pytest.mark.parametrize(
    ("needed", "said"), [((9, 9), "runs Python {}; 3.14 or later is needed"), ((3, 0), "use that one")]
)
def test_another_version_is_named(
    needed: tuple[int, int], said: str, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    found = remote_execution._version_of(os.getpid())
    if found is None:
        pytest.skip("this Python's files have no version in their names")
    assert found == sys.version_info[:2]
    monkeypatch.setattr(remote_execution, "_NEEDED", needed)
    if needed == (3, 0):
        monkeypatch.setattr(remote_execution, "_version_of", lambda _: (3, 99))
    assert said.format(f"{found[0]}.{found[1]}") in refusal(os.getpid())


def test_a_folder_is_given_away_last_and_no_link_is_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # from then on its owner may exchange what is in there
    given: list[tuple[Path, bool]] = []
    monkeypatch.setattr(os, "geteuid", lambda: -1)
    monkeypatch.setattr(os, "chown", lambda each, *_, follow_symlinks: given.append((each, follow_symlinks)))
    (tmp_path / "script.py").touch()
    remote_execution._give(tmp_path, os.getpid())
    assert given == [(tmp_path / "script.py", False), (tmp_path, False)]


def test_an_order_that_is_not_obeyed_in_time_is_taken_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # the process would come to a script whose name any user can take meanwhile
    ordered: list[str] = []
    monkeypatch.setattr(sys, "remote_exec", lambda _, script: ordered.append(script), raising=False)
    monkeypatch.setattr(remote_execution, "_check_version", lambda _: None)
    monkeypatch.setattr(remote_execution, "PATIENCE", 0.01)
    assert cli.main(["attach", str(os.getpid())]) == 1
    assert [Path(each).name for each in ordered] == ["script.py", "nothing.py"]
    assert not Path(ordered[0]).exists()
    assert Path(ordered[1]).exists()
    assert "swagent attach: " in capsys.readouterr().err


def test_an_order_that_was_answered_is_not_taken_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ordered: list[str] = []

    def refuse(_: int, script: str) -> None:
        ordered.append(script)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(Path(script).with_name("answer")))
            connection.sendall(b'{"error": "the shop is closed"}')

    monkeypatch.setattr(sys, "remote_exec", refuse, raising=False)
    monkeypatch.setattr(remote_execution, "_check_version", lambda _: None)
    assert cli.main(["attach", str(os.getpid())]) == 1
    assert [Path(each).name for each in ordered] == ["script.py"]
    assert capsys.readouterr().err == "swagent attach: the shop is closed\n"


def test_requests_that_end_while_the_agent_stops_are_not_counted_as_lost() -> None:
    ledger = SignalStatistics(
        Signal.SEGMENT, offered=12, refused={"full": 2, "shutdown": 3}, confirmed=6, dropped={"rejected": 1}, queued=0,
        queued_bytes=0, in_flight=0,
    )  # fmt: skip
    assert attached.count(ledger) == {"sent": 6, "lost": 3}
