"""The promises of the launchers about a server's life; the broker represents both, it starts faster."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.real.jars import UnavailableError, jars, java
from kit.real.kafka import Kafka
from kit.real.ports import free_ports, is_listening
from kit.real.server import ServerError

_SCRIPT = Path(__file__).parents[1] / "kit" / "real" / "kafka.py"

Script = tuple[subprocess.Popen[str], int]


@pytest.fixture
def script(make_kafka: Callable[[], Kafka], tmp_path: Path) -> Iterator[Script]:
    """kafka.py as a person runs it, up, and its port."""
    make_kafka().close()  # skips where there is no Java, and has the jars in the cache
    (port,) = free_ports(1)
    command = [sys.executable, str(_SCRIPT), "--port", str(port)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # killed, it cannot remove its data
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any(f"127.0.0.1:{port}" in line for line in process.stdout)
        yield process, port
        process.kill()


def gone_within(seconds: float, port: int) -> bool:
    deadline = time.monotonic() + seconds
    while is_listening(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_listening(port)


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_the_script_stops_its_server(script: Script, ended_by: signal.Signals) -> None:
    process, port = script
    process.send_signal(ended_by)
    assert process.wait(20) == 0
    assert not is_listening(port)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its killed parent")
def test_a_killed_script_takes_its_server_along(script: Script) -> None:
    process, port = script
    process.kill()
    assert gone_within(5, port)


def test_a_server_that_cannot_start_says_why(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerError, match=f"needs port {kafka.ports[0]}"):
        Kafka(port=kafka.ports[0]).__enter__()
    monkeypatch.setattr(Kafka, "heap", "1k")
    with pytest.raises(ServerError, match=re.compile("could not format.*Too small", re.DOTALL)):
        Kafka().__enter__()


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(UnavailableError, match="no java on the PATH"):
        java()
    with pytest.raises(UnavailableError, match="no mvn on the PATH"):
        jars("kafka", Kafka.version)
