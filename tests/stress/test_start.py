"""The benchmark of starts: its figures, and the process that it reads them off."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit.real.ports import free_ports
from stress.cost.counter import NEEDED
from stress.start.command import main, rows_of
from stress.start.instructions import Count, read_instructions
from stress.start.peers import PEERS
from stress.start.process import Server, StartError, run_to_end
from stress.start.verdict import Figures, guard

SERVE = """
import http.server, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "held = b'x' * 40_000_000\\nprint(1, flush=True)\\ninput()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def test_another_agent_that_does_not_start_has_a_cell_that_says_so() -> None:
    figures = {"a start": {"bare": [1.0], "official": list[float]()}}
    assert rows_of(figures, ["bare", "official"]) == [("a start", "1.00", "fails")]


def test_a_cell_has_the_median_and_what_is_more_in_the_same_round() -> None:
    figures = {
        "a start": {"bare": [0.1, 0.5, 0.2], "swagent": [0.3, 0.6, 0.4]},
        "memory": {"bare": [37.4], "swagent": [48.0]},
    }
    assert rows_of(figures, ["bare", "swagent"]) == [
        ("a start", "0.20", "0.40 (+0.20)"), ("memory", "37", "48 (+11)")
    ]  # fmt: skip


@pytest.mark.slow
def test_a_script_is_counted_with_its_children(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}], check=True)"
    assert run_to_end([sys.executable, "-c", parent], os.environ, tmp_path) >= 0.3


def test_a_script_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"ended with 1:\n(?s:.*)no such thing"):
        run_to_end([sys.executable, "-c", "raise OSError('no such thing')"], os.environ, tmp_path)


def test_a_server_is_counted_with_its_children(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    server = Server([sys.executable, "-c", SERVE, str(port)], os.environ, tmp_path, port)
    try:
        server.wait_for_answer()
        assert server.own_memory() > 40
        woken, spent = server.wake_ups(), server.thread_time()
        for _ in range(3):  # it goes on after the last answer only when it waits again
            server.ask()
        assert server.wake_ups() > woken
        assert server.thread_time() > spent
        assert server.processor_time() > 0
    finally:
        server.kill()


def test_each_peer_starts_its_own_programs() -> None:
    folder = Path("/env/bin")
    started = {name: peer.command(folder, ["uvicorn", "hello:app"]) for name, peer in PEERS.items()}
    assert started["bare"] == ["/env/bin/uvicorn", "hello:app"]
    assert started["swagent"] == ["/env/bin/swagent", "run", "--", "/env/bin/uvicorn", "hello:app"]
    assert not PEERS["bare"].settings("")
    assert "SW_AGENT_COLLECTOR_BACKEND_SERVICES" in PEERS["official"].settings("127.0.0.1:1")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in PEERS["otel"].settings("127.0.0.1:1")


def test_the_instructions_of_all_processes_are_added() -> None:
    logs = ["==7== Command: a\n==7== I   refs:      1,500,000\n", "==8== Command: b\n", "==9== I refs: 500,000"]
    assert read_instructions(logs) == 2.0


def test_a_count_of_nothing_quotes_valgrind() -> None:
    with pytest.raises(StartError, match="cannot open shared object"):
        read_instructions(["==7== cannot open shared object"])


def _figures(agent: float) -> Figures:
    return {"a script, millions of instructions": {"bare": [400.0], "swagent": [400.0 + agent]}}


@pytest.mark.parametrize(("agent", "status"), [(109.0, 0), (111.0, 1), (50.0, 0)])
def test_a_start_may_take_a_tenth_more_than_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: float, status: int
) -> None:
    path = tmp_path / "recorded_start.json"
    assert guard(_figures(100.0), is_new=True, path=path) == 0
    assert guard(_figures(agent), is_new=False, path=path) == status
    said = capsys.readouterr()
    assert ("the agent adds 111,000,000 instructions to a start, recorded is 100,000,000" in said.err) is (status == 1)
    assert ("hold what was gained with python -m stress start --record" in said.out) is (agent == 50.0)


def test_a_start_without_a_record_is_a_fault(tmp_path: Path) -> None:
    assert guard(_figures(100.0), is_new=False, path=tmp_path / "none.json") == 1


@pytest.mark.slow
@pytest.mark.skipif(any(shutil.which(each) is None for each in NEEDED), reason=f"needs {' and '.join(NEEDED)}")
def test_a_program_that_becomes_another_is_counted_with_it(tmp_path: Path) -> None:
    become = "import os, sys; os.execv('/bin/sh', ['sh', '-c', 'exit 3'])"
    count = Count(tmp_path)
    ended = subprocess.run(
        count.command([sys.executable, "-S", "-c", become]), env=count.environ(os.environ), check=False
    )
    assert ended.returncode == 3
    assert len(list(tmp_path.iterdir())) >= 2
    python, sh = 5.0, 0.1
    assert count.read() > python + sh


def test_the_record_is_judged_by_the_python_that_it_is_of(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--short", "--python", "/opt/python3.99"])
    assert "--python does not go with --short and --record" in capsys.readouterr().err
