"""An application under a real server, a steady load on it, and the last ledger that it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import anyio
import httpx
from anyio.streams.buffered import BufferedByteReceiveStream

from e2e.services import SERVERS, wait_served

HERE = Path(__file__).parent
CONNECTIONS = 20


async def wait_delivered(port: int, but: int) -> None:
    """Wait until the collector has confirmed all segments but so many, within twice the time after which the agent
    must have tried it again."""
    base_url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=base_url, timeout=30, trust_env=False) as client:
        with anyio.fail_after(60):
            while int((await client.get("/unconfirmed")).text) > but:  # noqa: ASYNC110  (another process knows it)
                await anyio.sleep(0.05)


async def load(port: int, rate: int, seconds: int) -> int:
    """Send requests on a fixed schedule over kept connections; returns how many were answered well."""
    answered = 0
    await wait_served(f"http://127.0.0.1:{port}")
    started = anyio.current_time()

    async def ask(connection: int) -> None:
        nonlocal answered
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            replies = BufferedByteReceiveStream(stream)
            for number in range(connection, rate * seconds, CONNECTIONS):
                await anyio.sleep_until(started + number / rate)
                await stream.send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                head = await replies.receive_until(b"\r\n\r\n", 4096)
                await replies.receive_exactly(len(b'"ok"'))
                answered += head.startswith(b"HTTP/1.1 200 ")

    async with anyio.create_task_group() as group:
        for connection in range(CONNECTIONS):
            group.start_soon(ask, connection)
    return answered


@contextmanager
def serve_app(server: str, port: int, environ: Mapping[str, str], output: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the application for as long as the block lasts."""
    arguments = [part.format(app="ledger_app:app", port=port) for part in SERVERS[server]]
    environ = {**os.environ, **environ, "PYTHONPATH": str(HERE)}
    # a pipe without a reader would block the application on its access log
    process = subprocess.Popen([sys.executable, "-m", *arguments], env=environ, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def stop(process: subprocess.Popen[bytes], output: Path) -> dict[str, Any]:
    """Stop the application as a service manager would; returns the ledger of its segments."""
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=30)
    ledgers = [line for line in output.read_text().splitlines() if line.startswith("{")]
    ledger: dict[str, Any] = json.loads(ledgers[-1])
    return ledger
