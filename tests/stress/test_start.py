"""The benchmark of starts: its figures, and the process that it reads them off."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kit.real.ports import free_ports
from stress.start.command import rows_of
from stress.start.peers import PEERS
from stress.start.process import Server, StartError, run_to_end

SERVE = """
import http.server, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "held = b'x' * 40_000_000\\nprint(1, flush=True)\\ninput()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def test_a_cell_has_the_median_and_what_is_more_in_the_same_round() -> None:
    figures = {
        "a start": {"bare": [0.1, 0.5, 0.2], "swagent": [0.3, 0.6, 0.4]},
        "memory": {"bare": [37.4], "swagent": [48.0]},
    }
    assert rows_of(figures, ["bare", "swagent"]) == [
        ("a start", "0.20", "0.40 (+0.20)"), ("memory", "37", "48 (+11)")
    ]  # fmt: skip


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
