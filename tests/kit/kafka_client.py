"""The Kafka transport as a test uses it: in its event loop, of any kind, watched."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kit import client
from kit.client import REQUEST_TIMEOUT, open_files, quiet_process, wait_files_closed
from kit.stopwatch import Stopwatch
from swagent.abc import Instance
from swagent.config import Config
from swagent.errors import DeliveryError
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal
from swagent_transports.kafka import KafkaTransport

INSTANCE = Instance("shop", "shop@host", (("language", "python"),))


class Client(client.Client):
    """One to a cluster."""

    async def send(self, *records: bytes, signal: Signal = Signal.SEGMENT) -> None:
        await self.run(self.transport.send, signal, records)

    async def probe(self) -> DeliveryError | None:
        """The work of the heartbeat."""
        try:
            await self.run(self.transport.report_properties, INSTANCE)
        except DeliveryError as error:
            return error
        return None

    async def wait_confirmed(self, seconds: float = 20.0) -> None:
        """Probe until the cluster answers, as the heartbeat does after an outage."""
        with anyio.fail_after(seconds):
            while await self.probe() is not None:  # noqa: ASYNC110
                await anyio.sleep(0.1)

    async def wait_tasks_ended(self, timeout: float = 5.0) -> set[Any]:
        """Those that are left when none is, or the time is up: a cancelled task ends some turns of the loop later."""
        with anyio.move_on_after(timeout):
            while await self.tasks():  # noqa: ASYNC110  (no event of ours says it)
                await anyio.sleep(0.005)
        return await self.tasks()


@asynccontextmanager
async def kafka_client(*servers: str, namespace: str = "", **settings: Any) -> AsyncGenerator[Client]:
    """A transport to a cluster. At its end it is closed at once, and nothing may be left: no task, no file, and
    nothing that reached the application's handlers."""
    settings = {"request_timeout": REQUEST_TIMEOUT, "kafka_namespace": namespace, **settings}
    config = Config(service="shop", kafka_bootstrap_servers=servers, **settings)
    (address,) = KafkaTransport.addresses(config)
    async with transport_runner(KafkaTransport.runtimes) as run:
        ours = Client(KafkaTransport(config, address), run)
        unwatch = await ours.watch_loop()
        before = open_files()
        try:
            with quiet_process():
                yield ours
                watch = Stopwatch()
                with anyio.fail_after(10):
                    await run(ours.transport.aclose)
                assert watch.own_seconds < 0.5, "closing took its time"
                assert not await ours.wait_tasks_ended(), "tasks are left"
                assert not await wait_files_closed(before), "files are left open"
                gc.collect()
        finally:
            with anyio.CancelScope(shield=True):
                await run(ours.transport.aclose)
            unwatch()
        assert not ours.problems, f"the application's exception handler heard of {ours.problems}"
