"""Starts the demo's services as a user would, by `swagent run`, and lets them drain."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
RUN = (sys.executable, "-m", "swagent", "run", "--", sys.executable)
# so that the charts and the ledgers keep nobody waiting, queries say what they ask, and requests where their time went;
# the environment goes first
SETTINGS = {
    "SW_AGENT_METER_REPORTER_PERIOD": "2",
    "SW_PLUGIN_SQL_STATEMENTS": "true",
    "SW_AGENT_TIME_SPLIT_EVERY": "1",
}
# seconds: twice what an agent takes at most
PATIENCE = 15


@dataclass(frozen=True)
class Service:
    """One program of the demo.

    :param arguments: what Python is told to run
    """

    name: str
    port: int
    arguments: Sequence[str]

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"


def find_services() -> tuple[Service, ...]:
    """The three services, each on a free port. Callers come before those whom they call."""
    shop, stock, warehouse = _free_ports(3)
    uvicorn = ("-m", "uvicorn", "--log-level", "critical", "--port")
    return (
        Service("shop", shop, (*uvicorn, str(shop), "shop:app")),
        Service("stock", stock, (*uvicorn, str(stock), "stock:app")),
        Service("warehouse", warehouse, ("warehouse.py", str(warehouse))),
    )


@asynccontextmanager
async def running(services: Sequence[Service], collector: str, folder: Path) -> AsyncIterator[None]:
    """Run the services for as long as the block lasts, and let them drain, those first that call others.

    :param collector: where they report
    :param folder: where their databases are
    """
    environ = {**SETTINGS, **os.environ, "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector}
    environ |= {service.name.upper(): service.address for service in services}
    async with AsyncExitStack() as stack:
        for service in reversed(services):
            own = {"SW_AGENT_NAME": service.name, "DATABASE": str(folder / f"{service.name}.sqlite")}
            await stack.enter_async_context(_running(service, {**environ, **own}))
        yield


@asynccontextmanager
async def _running(service: Service, environ: Mapping[str, str]) -> AsyncIterator[None]:
    command = [*RUN, *service.arguments]
    # in a session of its own: a terminal sends Ctrl-C to all of its processes, and the service has to outlive that
    process = subprocess.Popen(command, cwd=HERE, env=environ, start_new_session=True)  # noqa: ASYNC220  (takes no time)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        # in a thread: the collector in this loop has to take what the service still tells it
        try:
            await asyncio.to_thread(process.wait, PATIENCE)
        finally:
            process.kill()  # harmless where it has ended


async def wait_listening(services: Sequence[Service]) -> None:
    """Wait until each of them listens.

    :raises TimeoutError: when one does not
    """
    await asyncio.gather(*map(_wait_listening, services))


async def _wait_listening(service: Service) -> None:
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", service.port)
        except OSError:
            await asyncio.sleep(0.05)  # another process's start has no event to wait for
        else:
            writer.close()
            await writer.wait_closed()
            return
    raise TimeoutError(f"the {service.name} does not listen after 30 s")


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()
