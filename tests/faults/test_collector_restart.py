"""The collector is killed and started again under load: the application serves on, and the ledger is right."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from e2e.services import wait_served
from faults.loaded_app import load, serve_app, stop, wait_delivered
from kit.real.ports import free_ports

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
RATE = 200
SECONDS = 30


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # of the load; the application chooses its own


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", ["uvicorn-asyncio", "hypercorn-trio"])
async def test_the_ledger_equals_what_a_killed_and_restarted_collector_saw(server: str, tmp_path: Path) -> None:
    app_port, collector_port = free_ports(2)
    ids = tmp_path / "ids"
    output = tmp_path / "output"
    environ = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": f"127.0.0.1:{collector_port}"}
    survived = anyio.Event()
    with output.open("w") as file, serve_app(server, app_port, environ, file) as app:
        await wait_served(f"http://127.0.0.1:{app_port}")
        async with anyio.create_task_group() as group:
            group.start_soon(_kill_and_restart, collector_port, app_port, ids, survived)
            answered = await load(app_port, RATE, SECONDS)
            await survived.wait()
            # the stop alone has five seconds for all that waits
            await wait_delivered(app_port, RATE)
            ledger = await anyio.to_thread.run_sync(stop, app, output)
            group.cancel_scope.cancel()
    print(ledger)
    seen = Counter(ids.read_text().split())
    assert answered == ledger["offered"] == RATE * SECONDS, "every request was answered and recorded"
    assert ledger["balanced"]
    assert ledger["queued"] == ledger["in_flight"] == 0
    assert set(ledger["dropped"]) <= {"ambiguous"}, "the outage lost nothing but what was under way at the kills"
    assert max(seen.values()) == 1, "nothing arrived twice"
    assert ledger["confirmed"] <= len(seen) <= ledger["confirmed"] + ledger["dropped"].get("ambiguous", 0)
    # each of two kills may meet what was not confirmed yet, and the requests of a second until the kill
    assert ledger["dropped"].get("ambiguous", 0) <= 2 * 2 * RATE


async def _kill_and_restart(collector_port: int, app_port: int, ids: Path, survived: anyio.Event) -> None:
    """Up, killed after 8 s, up again 6 s later, killed again after 8 s, and up for the rest. A machine that is busy may
    need longer to send what the outage left; killed amid that, four full batches would be ambiguous."""
    for up, down in ((8, 6), (8, 2)):
        with _collector(collector_port, ids) as collector:
            await _wait_listening(collector)
            await anyio.sleep(up)
            await wait_delivered(app_port, RATE)
        await anyio.sleep(down)
    with _collector(collector_port, ids) as collector:
        await _wait_listening(collector)
        survived.set()
        await anyio.sleep_forever()


@contextmanager
def _collector(port: int, ids: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One that lives as long as the block."""
    command = [sys.executable, str(HERE / "counting_collector.py"), str(port), str(ids)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


async def _wait_listening(collector: subprocess.Popen[bytes]) -> None:
    assert collector.stdout is not None
    assert await anyio.to_thread.run_sync(collector.stdout.readline, abandon_on_cancel=True) == b"listening\n"
