"""The command, as a process of its own."""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from grpclib.client import Channel

from swagent.collector import command
from swagent.collector.server import Collector
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio
COMMAND = [sys.executable, "-m", "swagent.collector"]
FREE = ["--port", "0", "--http-port", "0", "--page-port", "0"]


@contextmanager
def running(*options: str, command: Sequence[str] = COMMAND) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, once it listens, and its port."""
    with subprocess.Popen(
        [*command, *FREE, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline().rsplit(":", 1)[1])
        finally:
            process.kill()


def rest(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The rest of its output. Not by `communicate`, which does not see the text that `readline` has read ahead."""
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.read(), process.stderr.read()


async def report(port: int, segment_id: str, token: str = "") -> None:
    span = wire.SpanObject(
        parent_span_id=-1, start_time=5, end_time=9, operation_name="/a", span_type=wire.SpanType.from_string("Entry")
    )
    async with Channel("127.0.0.1", port) as channel:
        stub = wire.TraceSegmentReportServiceStub(channel, metadata={"authentication": token} if token else None)
        await stub.collect([wire.SegmentObject("t", segment_id, [span], "shop")])


@pytest.mark.gate
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_prints_address_traces_and_totals(number: signal.Signals) -> None:
    with running("--token", "sesam") as (process, port):
        await report(port, "s1", "sesam")
        process.send_signal(number)
        output, errors = rest(process)
        assert (process.wait(timeout=10), errors) == (0, "")
    introduction, _, rest_of_it = output.partition("Stop with Ctrl-C.\n\n")
    assert f"SERVICES=127.0.0.1:{port} SW_AGENT_AUTHENTICATION=<token>\n" in introduction
    assert "\n  http://127.0.0.1:" in f"\n{introduction}"
    assert "SW_AGENT_PROTOCOL=http" in introduction
    assert "Keeps the newest 50,000 segments in memory" in introduction
    assert (
        rest_of_it
        == """\
Trace t
  4 ms · 1 service · 1 span
  4 ms    /a  Entry  shop

swagent collector: received 1 segment (0 duplicates), 0 logs, 0 meters; 1 service: shop
"""
    )


@pytest.mark.gate
async def test_traces_are_printed_live_and_quiet_prints_none() -> None:
    with running() as (process, port), running("--quiet", "--no-page") as (quiet, other):
        await report(port, "s1")
        await report(other, "s1")
        assert process.stdout is not None
        while process.stdout.readline() != "\n":
            pass
        assert process.stdout.readline() == "Trace t\n"
        quiet.terminate()
        output, errors = rest(quiet)
    assert "received 1 segment " in output
    assert [word for word in ("Trace", "Open the page") if word in output + errors] == []


@pytest.mark.gate
async def test_reader_that_goes_away_ends_it() -> None:
    with running() as (process, port):
        assert process.stdout is not None
        while process.stdout.readline() != "\n":
            pass
        process.stdout.close()
        await report(port, "s1")
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.gate
@pytest.mark.parametrize(
    ("module", "extra", "options"),
    [("grpclib", "collector", ()), ("aiokafka", "collector,kafka", ("--kafka", "127.0.0.1:9"))],
)
def test_a_missing_extra_is_named(module: str, extra: str, options: tuple[str, ...]) -> None:
    code = f"import sys; sys.modules['{module}'] = None; from swagent.collector.__main__ import main; sys.exit(main())"
    result = run_to_end(*options, command=[sys.executable, "-c", code])
    assert (result.returncode, f"pip install 'swagent[{extra}]'" in result.stderr) == (1, True)


def test_command_starts_quickly() -> None:
    code = "import sys, swagent.collector.command; print({'grpclib', 'betterproto', 'h2'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert result.stdout == "set()\n"


def run_to_end(*options: str, command: Sequence[str] = COMMAND) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *FREE, *options], capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.gate
@pytest.mark.parametrize("option", ["--port", "--http-port", "--page-port"])
def test_every_port_in_use_is_named(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = run_to_end(option, port)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"swagent collector: cannot listen on 127.0.0.1:{port}: ")
    assert option in result.stderr


@pytest.mark.gate
def test_a_store_in_use_and_a_store_that_cannot_be(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    with running("--store", path, "--quiet"):
        result = run_to_end("--store", path)
    assert (result.returncode, "locked" in result.stderr, path in result.stderr) == (1, True, True)
    missing = run_to_end("--store", str(tmp_path / "nowhere" / "store.db"))
    assert (missing.returncode, "Traceback" in missing.stderr) == (1, False)


@pytest.mark.gate
async def test_a_restart_shows_what_came_before(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    for life in range(2):
        with running("--store", path, "--max-age", "3600") as (process, port):
            assert process.stdout is not None
            page = process.stdout.readline() and process.stdout.readline().strip()
            async with httpx.AsyncClient(trust_env=False, timeout=50) as client:
                status = (await client.get(f"{page}api/status")).json()
                assert (status["segments"], status["store"], status["limits"]["max_age_s"]) == (life, path, 3600)
                await report(port, f"s{life}")
                process.terminate()
                assert process.wait(10) == 0


@pytest.mark.gate
def test_no_broker_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    result = run_to_end("--kafka", f"127.0.0.1:{port}")
    assert result.returncode == 1
    assert f"no Kafka broker at 127.0.0.1:{port}" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("option", "value"), [("--max-segments", "0"), ("--max-age", "-1"), ("--max-age", "nan"), ("--port", "65536")]
)
def test_numbers_that_are_none(option: str, value: str) -> None:
    result = run_to_end(option, value)
    assert (result.returncode, option in result.stderr) == (2, True)


def full(path: Path) -> Store:
    """A store with something to write and no room for it."""
    store = Store(path=str(path))
    store.read("PRAGMA max_page_count=1")
    store.add(Segment("t", "s", "x" * 500_000, "i", ()))
    return store


def test_a_full_disk_at_the_end_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command._conclude(Collector(store=full(tmp_path / "store.db")), None) == 1
    said = capsys.readouterr()
    assert "disk is full" in said.err
    assert "received 1 segment" in said.out


def test_a_full_disk_at_the_start_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's offsets are written before it listens."""

    async def start(collector: Collector) -> None:
        full(tmp_path / "store.db").commit()

    monkeypatch.setattr(Collector, "start", start)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert command.run(parser.parse_args(["--no-page"])) == 1
    assert "disk is full" in capsys.readouterr().err
