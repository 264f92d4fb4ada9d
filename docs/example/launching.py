"""Starts the demo's services as a user would, by `swagent run`, and the neighbour without it; lets them drain."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from swagent.collector.server import Collector

HERE = Path(__file__).parent
RUN = (sys.executable, "-m", "swagent", "run", "--", sys.executable)
# so that the charts and the ledgers show something soon, queries show their statements, and requests show
# where their time went; the environment goes first
SETTINGS = {
    "SW_AGENT_METER_REPORTER_PERIOD": "2",
    "SW_PLUGIN_SQL_STATEMENTS": "true",
    "SW_AGENT_TIME_SPLIT_EVERY": "1",
}
# the service that has OpenTelemetry's SDK instead of the agent
NEIGHBOUR = "courier"
# seconds: twice what an agent takes at most
LONGEST_WAIT = 15
# seconds: what a start takes on a machine that has much else to do
START_PATIENCE = 120
# below what kernels hand to outgoing connections, which else might take a port before its service listens
PORTS = range(20_000, 32_000)


@dataclass
class Service:
    """One program of the demo.

    :param arguments: the arguments of Python: a script or a module, and its own
    :param process: in which it runs, once it was started
    """

    name: str
    port: int
    arguments: Sequence[str]
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    @property
    def has_ended(self) -> bool:
        """Whether it was started, and runs no more."""
        return self.process is not None and self.process.poll() is not None


def find_services() -> tuple[Service, ...]:
    """The services, each on a free port. Callers come before those whom they call."""
    shop, courier, stock, warehouse = _free_ports(4)
    uvicorn = ("-m", "uvicorn", "--log-level", "critical", "--port")
    return (
        Service("shop", shop, (*uvicorn, str(shop), "shop:app")),
        Service(NEIGHBOUR, courier, ("courier.py", str(courier))),
        Service("stock", stock, (*uvicorn, str(stock), "stock:app")),
        Service("warehouse", warehouse, ("warehouse.py", str(warehouse))),
    )


@asynccontextmanager
async def running(services: Sequence[Service], collector: Collector, folder: Path) -> AsyncIterator[None]:
    """Run the services for as long as the block lasts, and let them drain, those first that call others.

    :param collector: where they report
    :param folder: where their databases are
    """
    addresses = {service.name.upper(): service.address for service in services}
    async with AsyncExitStack() as stack:
        for service in reversed(services):
            if service.name == NEIGHBOUR:
                started = _running(service, (sys.executable,), {**_for_neighbour(collector), **addresses})
            else:
                started = _running(service, RUN, {**_for_agent(service, collector, folder), **addresses})
            await stack.enter_async_context(started)
        yield


def _for_agent(service: Service, collector: Collector, folder: Path) -> dict[str, str]:
    return {
        **SETTINGS,
        **os.environ,
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address,
        "SW_AGENT_NAME": service.name,
        "DATABASE": str(folder / f"{service.name}.sqlite"),
    }


def _for_neighbour(collector: Collector) -> dict[str, str]:
    """The variables that OpenTelemetry's SDK reads; those of the terminal are for services of the user's own."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("OTEL_")},
        "OTEL_SERVICE_NAME": NEIGHBOUR,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{collector.http_address}",
        "OTEL_BSP_SCHEDULE_DELAY": "500",  # milliseconds
        "no_proxy": "127.0.0.1",
    }


@asynccontextmanager
async def _running(service: Service, start: Sequence[str], environ: Mapping[str, str]) -> AsyncIterator[None]:
    command = [*start, *service.arguments]
    # in a session of its own: a terminal sends Ctrl-C to all of its processes, and the service has to outlive that
    process = subprocess.Popen(command, cwd=HERE, env=environ, start_new_session=True)  # noqa: ASYNC220  (takes no time)
    service.process = process
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        # in a thread: the collector in this loop has to take what the service still sends
        try:
            await asyncio.to_thread(process.wait, LONGEST_WAIT)
        finally:
            process.kill()  # harmless where it has ended


async def wait_listening(services: Sequence[Service]) -> None:
    """Wait until each of them listens.

    :raises RuntimeError: when one has ended
    :raises TimeoutError: when one does not
    """
    await asyncio.gather(*map(_wait_listening, services))


async def _wait_listening(service: Service) -> None:
    deadline = time.monotonic() + START_PATIENCE
    while time.monotonic() < deadline:
        if service.has_ended:
            raise RuntimeError(f"the {service.name} has ended")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", service.port)
        except OSError:
            await asyncio.sleep(0.05)  # another process's start has no event to wait for
        else:
            writer.close()
            await writer.wait_closed()
            return
    raise TimeoutError(f"the {service.name} does not listen after {START_PATIENCE} s")


def _free_ports(count: int) -> list[int]:
    return list(islice(filter(_is_free, random.sample(PORTS, 200)), count))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
