"""Starts the demo's services as a user would, by `swagent run`, and lets them drain."""

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

HERE = Path(__file__).parent
RUN = (sys.executable, "-m", "swagent", "run", "--", sys.executable)
# so that the charts and the ledgers show something soon, queries show their statements, and requests show
# where their time went; the environment goes first
SETTINGS = {
    "SW_AGENT_METER_REPORTER_PERIOD": "2",
    "SW_PLUGIN_SQL_STATEMENTS": "true",
    "SW_AGENT_TIME_SPLIT_EVERY": "1",
}
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
