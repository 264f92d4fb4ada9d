"""The demo, as a newcomer runs it: by itself, and in a terminal until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import demo
from example.terminal import Terminal

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "example"
DEMO = str(EXAMPLE / "demo.py")
SERVICES = ("shop", "stock", "warehouse")
NEIGHBOUR = "courier"
PAGE = re.compile(r"Open the page: (http://127\.0\.0\.1:\d+)/")
CTRL_C = b"\x03"

# eight interpreters start and end, and each service may take its time to listen
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def environ() -> dict[str, str]:
    """Without what would make the demo end by itself, or report elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SW_") and name != "CI"}
    return {**kept, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}


@contextmanager
def in_terminal(environ: dict[str, str]) -> Iterator[Terminal]:
    terminal = Terminal([sys.executable, DEMO], environ)
    try:
        yield terminal
    finally:
        terminal.close()


def run_once(environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, DEMO, "--once"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.slow
def test_once_it_shows_the_traces_and_ends(environ: dict[str, str]) -> None:
    done = run_once(environ)
    assert done.returncode == 0, done.stdout + done.stderr
    assert PAGE.match(done.stdout)
    assert len(re.findall(r"^Trace ", done.stdout, re.MULTILINE)) == 6
    for row in (
        r"GET:/orders/\{item\} +Entry  shop ",
        r"POST:/stock/\{item\} +Entry  stock ",
        r"GET:/pieces/sofa +Entry  warehouse ",
        r"✗ .* SQLite/sqlite3/execute +Exit   stock .* db\.statement=UPDATE",
        r"GET:/report +Entry  shop .*",
        r"courier: reports by OpenTelemetry's own SDK, over OTLP, and is in one trace with shop and stock:",
        r"GET /deliveries/\{item\} +Entry  courier ",
        r"GET +Exit   courier .*url=http://127.0.0.1:\d+/stock/desk",
        r"GET:/stock/\{item\} +Entry  stock ",
        r"log   shop .*only 2 of chair left",
        r"log   stock .*no sofa is left",
    ):
        assert re.search(row, done.stdout, re.MULTILINE), (row, done.stdout)
    for service in SERVICES:
        assert f"meter {service:<9} instance_pvm_thread_active_count = " in done.stdout
        assert f"swagent stopped for {service}:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_it_fails_where_the_neighbour_is_not_joined(environ: dict[str, str]) -> None:
    done = run_once({**environ, "SW_AGENT_PROPAGATE_TRACEPARENT": "false"})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "courier: NOT JOINED, no trace has it together with shop and stock" in done.stdout
    assert "is in one trace" not in done.stdout
    # the spans have come: only their traces are apart
    assert re.search(r"GET /deliveries/\{item\} +Entry  courier ", done.stdout)


@pytest.mark.slow
def test_it_fails_where_a_service_does_not_report_its_end(environ: dict[str, str]) -> None:
    done = run_once({**environ, "SW_AGENT_EVENT_REPORTER_ACTIVE": "false"})
    assert done.returncode == 1, done.stdout + done.stderr
    # the courier has no agent, and is not asked for
    assert re.findall(r"^(\w+): NOT DRAINED", done.stdout, re.MULTILINE) == list(SERVICES)


def test_its_services_have_not_a_line_of_ours() -> None:
    for service in (*SERVICES, NEIGHBOUR):
        source = (EXAMPLE / f"{service}.py").read_text("utf-8")
        assert not re.search(r"^\s*(import|from) swagent", source, re.MULTILINE)


@pytest.mark.slow
def test_in_a_terminal_it_goes_on_until_ctrl_c(environ: dict[str, str]) -> None:
    with in_terminal(environ) as terminal:
        output = terminal.read_until("Customers keep coming")
        found = PAGE.match(output)
        assert found, output
        with httpx.Client(base_url=found[1], trust_env=False, timeout=20) as client:
            assert "swagent collector" in client.get("/").text
            at_first = client.get("/api/traces").json()["total"]
            with client.stream("GET", "/api/live") as live:
                # after the requests of the beginning there is one of a customer
                changes = (line for line in live.iter_lines() if '"segments"' in line)
                while client.get("/api/traces").json()["total"] <= at_first:
                    next(changes)
            services = client.get("/api/services").json()["services"]
            assert {each["name"] for each in services} == {*SERVICES, NEIGHBOUR}
        terminal.write(CTRL_C)
        output = terminal.read_to_end()
        assert terminal.process.wait(timeout=60) == 0, output
    for service in SERVICES:
        assert f"swagent stopped for {service}:" in output
    assert "collector: received" in output
    assert "Traceback" not in output


@pytest.mark.slow
def test_ctrl_c_at_the_start_ends_it_too(environ: dict[str, str]) -> None:
    with in_terminal(environ) as terminal:
        terminal.read_until("Open the page")
        terminal.write(CTRL_C)
        output = terminal.read_to_end()
        assert terminal.process.wait(timeout=60) == 0, output
    assert "Traceback" not in output


def test_a_service_that_the_same_ctrl_c_has_ended_is_no_failure() -> None:
    """Between its fork and its own session it belongs to the terminal."""

    async def ended() -> None:
        raise RuntimeError("the warehouse has ended")

    async def stop(is_stopped: bool) -> None:
        stopping = asyncio.Event()
        if is_stopped:
            stopping.set()
        await demo._until(stopping, ended())

    asyncio.run(stop(is_stopped=True))
    with pytest.raises(RuntimeError, match="warehouse"):
        asyncio.run(stop(is_stopped=False))
