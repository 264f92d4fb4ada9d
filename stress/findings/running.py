"""Runs one case: a collector, two services with the agent, a partner without one, and requests."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx

from stress.soak.orphans import PARENT
from swagent.collector.api.failure_index import FailureIndex
from swagent.collector.findings.baselines import Baselines
from swagent.collector.findings.finding import Finding
from swagent.collector.findings.now import now
from swagent.collector.server import Collector
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment

from .cases import Case
from .lateness import LATE, Late, Traces, late_within, left_in, took_within, watching

_START = 60.0  # seconds
_END = 15.0
_COMMAND = (
    sys.executable,
    "-m",
    "swagent",
    "run",
    "--",
    sys.executable,
    "-m",
    "uvicorn",
    "stress.findings.application:app",
)
_OPTIONS = ("--log-level", "critical", "--no-access-log", "--port")
SETTINGS = {
    "SW_AGENT_TIME_SPLIT_EVERY": "1",
    "SW_PLUGIN_SQL_STATEMENTS": "true",
    "SW_AGENT_METER_REPORTER_PERIOD": "1",
    "SW_AGENT_LOGGING_LEVEL": "ERROR",
}


class Found(NamedTuple):
    """What is found amiss in a case, and what is known of the traces of each finding."""

    findings: list[Finding]
    traces: dict[Finding, Traces]


async def findings_of(case: Case, severity: str) -> Found:
    """Run a case; returns what is found once its services have ended."""
    with TemporaryDirectory() as folder:
        async with Collector() as collector, _partner() as partner, watching() as late:
            await _run(case, severity, {**_addresses(collector.address, partner), LATE: folder})
            await asyncio.to_thread(collector.store.commit)
            store = collector.store
            findings = now(store, FailureIndex(store), Baselines(store), {}).findings
            late += left_in(folder)
            return Found(findings, {each: _traces_of(each, store, late) for each in findings})


def _traces_of(finding: Finding, store: Store, late: list[Late]) -> Traces:
    traces = _read_traces(finding, store)
    return Traces(late_within(late, traces), took_within(finding, traces))


def _read_traces(finding: Finding, store: Store) -> list[list[Segment]]:
    return [store.trace(trace_id) for trace_id in dict.fromkeys(place.trace_id for place in finding.places)]


def _addresses(collector: str, partner: str) -> dict[str, str]:
    return {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector, "FINDINGS_PARTNER": partner}


async def _run(case: Case, severity: str, places: Mapping[str, str]) -> None:
    ports = {"shop": _free_port(), "stock": _free_port()}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SW_")}
    environ = {
        **clean, **SETTINGS, **case.settings, **places, "FINDINGS_CASE": case.name, PARENT: str(os.getpid()),
        "FINDINGS_LEVEL": str(case.level(severity)),
        "FINDINGS_STOCK": f"http://127.0.0.1:{ports['stock']}", "SW_AGENT_NATIVE": clean.get("SW_AGENT_NATIVE", "auto"),
    }  # fmt: skip
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        for service in ("stock", "shop"):
            if service != case.restarted:
                await enter(_service(service, ports[service], environ))
        generations = 2 if case.restarted else 1
        share = case.requests // generations
        for generation in range(1, generations + 1):
            async with AsyncExitStack() as inner:
                if case.restarted:
                    own = {**environ, "FINDINGS_GENERATION": str(generation)}
                    await inner.enter_async_context(_service(case.restarted, ports[case.restarted], own))
                await _send(case, ports["shop"], range((generation - 1) * share, generation * share))


async def _send(case: Case, port: int, numbers: range) -> None:
    """Send the requests, some of them at a time. What they answer does not matter: it is recorded."""
    left = iter(numbers)
    limits = httpx.Limits(max_keepalive_connections=0)  # a server ends a connection on which a request failed
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30, limits=limits
    ) as client:

        async def send() -> None:
            for number in left:
                is_other = case.other and number % case.every == case.every - 1
                path = case.other if is_other else case.path.format(n=number)
                with suppress(httpx.TransportError):
                    await client.get(path)

        await asyncio.gather(*(send() for _ in range(case.at_once)))


@asynccontextmanager
async def _service(name: str, port: int, environ: Mapping[str, str]) -> AsyncIterator[None]:
    """A service, for as long as the block lasts; it reports all that it has at its end."""
    own = {**environ, "SW_AGENT_NAME": name, "FINDINGS_SERVICE": name}
    command = [*_COMMAND, *_OPTIONS, str(port)]
    # in a session of its own: it ends with the run, whatever ends that
    process = subprocess.Popen(command, env=own, stderr=subprocess.DEVNULL, start_new_session=True)  # noqa: ASYNC220
    try:
        await _wait_listening(process, port)
        yield
    finally:
        process.terminate()
        try:
            # in a thread: the collector in this loop has to take what the service still sends
            await asyncio.to_thread(process.wait, _END)
        finally:
            process.kill()
            process.wait()


async def _wait_listening(process: subprocess.Popen[bytes], port: int) -> None:
    with anyio.fail_after(_START):
        while True:
            if process.poll() is not None:
                raise RuntimeError(f"a service ended with {process.returncode} instead of listening")
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)  # another process's start has no event to wait for
                continue
            writer.close()
            await writer.wait_closed()
            return


@asynccontextmanager
async def _partner() -> AsyncIterator[str]:
    """A server without an agent, that answers after as many milliseconds as it is asked for."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        [ms] = parse_qs(urlsplit(head.split()[1].decode()).query).get("ms", ["0"])
        await asyncio.sleep(float(ms) / 1000)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
