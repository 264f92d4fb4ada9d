"""Real servers in processes of their own, and clients of theirs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import STDOUT

import anyio
import httpx
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from swagent.collector.store.store import Store

HERE = Path(__file__).parent

_UVICORN = ["uvicorn", "served:app", "--port", "0", "--no-access-log", "--no-use-colors"]
_HYPERCORN = ["hypercorn", "served:app", "--bind", "127.0.0.1:0"]
SERVERS = {
    "uvicorn-asyncio": [*_UVICORN, "--loop", "asyncio"],
    "uvicorn-uvloop": [*_UVICORN, "--loop", "uvloop"],
    "hypercorn-asyncio": [*_HYPERCORN, "-k", "asyncio"],
    "hypercorn-uvloop": [*_HYPERCORN, "-k", "uvloop"],
    "hypercorn-trio": [*_HYPERCORN, "-k", "trio"],
}
# Far away, so that a server which waits for one of them to pass differs from one on a busy machine.
_DEADLINES = {"SW_AGENT_SHUTDOWN_TIMEOUT": "30", "SW_AGENT_REQUEST_TIMEOUT": "30"}
_LISTENING = re.compile(r"unning on (http://127\.0\.0\.1:\d+)")


@dataclass
class Server:
    """A server's process and what it printed so far."""

    process: Process
    output: str = ""
    url: str = ""
    _has_ended: bool = False
    _changed: anyio.Event = field(default_factory=anyio.Event)

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for text in TextReceiveStream(self.process.stdout, errors="replace"):
            self.output += text
            self._notify()
        self._has_ended = True
        self._notify()

    async def wait_printed(self, pattern: re.Pattern[str] | str, timeout: float = 50) -> re.Match[str]:
        """Wait for a line, and not beyond the end of the output."""
        with anyio.move_on_after(timeout):
            while not re.search(pattern, self.output) and not self._has_ended:
                await self._changed.wait()
        found = re.search(pattern, self.output)
        assert found, f"{pattern} is not in {self.output}"
        return found

    async def end(self, number: signal.Signals = signal.SIGTERM, timeout: float = 40) -> float:
        """Send a signal, wait for the end and return how long it took; the output is complete then."""
        began = anyio.current_time()
        self.process.send_signal(number)
        await self.wait_ended(timeout)
        return anyio.current_time() - began

    async def wait_ended(self, timeout: float = 40) -> int:
        """Wait for the process and for the rest of its output: that may come behind its status."""
        with anyio.fail_after(timeout):
            status = await self.process.wait()
            while not self._has_ended:
                await self._changed.wait()
            return status

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=10)

    def _notify(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


@asynccontextmanager
async def launch(kind: str, *options: str, collector: str, environ: Mapping[str, str] | None = None
                 ) -> AsyncGenerator[Server]:  # fmt: skip
    """A server that has been started, and is not necessarily listening yet; it is killed behind the block."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("SW_")}
    agent = {
        "SW_AGENT_NAME": "shop", "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector, **_DEADLINES, **(environ or {}),
    }  # fmt: skip
    command = [sys.executable, "-m", *SERVERS[kind], *options]
    async with await anyio.open_process(
        command, cwd=HERE, env={**own, "PYTHONPATH": str(HERE), **agent}, stderr=STDOUT, start_new_session=True
    ) as process:
        server = Server(process)
        reading = asyncio.create_task(server.read())
        try:
            yield server
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            await reading


@asynccontextmanager
async def serve(kind: str, *options: str, collector: str, environ: Mapping[str, str] | None = None
                ) -> AsyncGenerator[Server]:  # fmt: skip
    """A server that listens."""
    async with launch(kind, *options, collector=collector, environ=environ) as server:
        server.url = (await server.wait_printed(_LISTENING))[1]
        yield server


async def ask(server: Server, count: int) -> set[str]:
    """Make some requests and return their traces' ids."""
    async with server.client() as client:
        answers = [await client.get(f"/items/{number}") for number in range(count)]
    assert {answer.status_code for answer in answers} == {200}
    return {answer.text for answer in answers}


async def ask_until_it_ends(server: Server, answered: set[str], enough: anyio.Event) -> None:
    """Make requests, one after the other, as long as they are answered; note their traces' ids.

    :param enough: set once the server is well under load, that is after a hundred answers
    """
    async with server.client() as client:
        while True:
            try:
                answer = await client.get("/items/1")
            except httpx.HTTPError:
                return
            if answer.status_code == 200:
                answered.add(answer.text)
            if len(answered) > 100:
                enough.set()
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def open_stream(server: Server) -> AsyncGenerator[str]:
    """A response that does not end for as long as the block lasts; gives its trace's id."""
    async with server.client() as client, client.stream("GET", "/stream") as response:
        chunks = response.aiter_text()
        yield await anext(chunks)


def arrived(store: Store) -> set[str]:
    return set(store.trace_ids)
