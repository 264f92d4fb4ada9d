"""The Kafka transport as a test uses it: in its event loop, of any kind, watched."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kit.client import REQUEST_TIMEOUT, open_files, quiet_process, wait_files_closed
from kit.stopwatch import Stopwatch
from swagent.abc import Instance
from swagent.backend import Runner
from swagent.config import Config
from swagent.errors import DeliveryError
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal
from swagent_transports.kafka import KafkaTransport

INSTANCE = Instance("shop", "shop@host", (("language", "python"),))


class Client:
    """A transport, and short words for what tests do with it."""

    def __init__(self, transport: KafkaTransport, run: Runner) -> None:
        self.transport = transport
        self.run = run
        self.problems: list[dict[str, Any]] = []

    async def send(self, *records: bytes, signal: Signal = Signal.SEGMENT) -> None:
        """Send one batch."""
        await self.run(self.transport.send, signal, records)

    async def verdict(self, *records: bytes, signal: Signal = Signal.SEGMENT) -> DeliveryError | None:
        """Send one batch, and return the verdict on it: None for confirmed."""
        try:
            await self.send(*records, signal=signal)
        except DeliveryError as error:
            return error
        return None

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

    async def tasks(self) -> set[str]:
        """The asyncio tasks in the transport's loop, without the one that looks."""

        async def look() -> set[str]:
            return {repr(task) for task in asyncio.all_tasks() - self._known - {asyncio.current_task()}}

        return await self.run(look)

    async def wait_tasks_ended(self, timeout: float = 5.0) -> set[str]:
        """Those that are left when none is, or the time is up: a cancelled task ends some turns of the loop later."""
        with anyio.move_on_after(timeout):
            while await self.tasks():  # noqa: ASYNC110  (no event of ours says it)
                await anyio.sleep(0.005)
        return await self.tasks()

    async def watch_loop(self) -> Callable[[], None]:
        """Catch what would reach the application's exception handler."""

        async def watch() -> Callable[[], None]:
            self._known = asyncio.all_tasks()
            loop = asyncio.get_running_loop()
            before = loop.get_exception_handler()
            loop.set_exception_handler(lambda _, context: self.problems.append(context))
            return lambda: loop.set_exception_handler(before)

        return await self.run(watch)


@asynccontextmanager
async def kafka_client(*servers: str, namespace: str = "", **settings: Any) -> AsyncGenerator[Client]:
    """A transport to a cluster. At its end it is closed at once, and nothing may be left: no task, no file, and
    nothing that reached the application's handlers."""
    settings = {"request_timeout": REQUEST_TIMEOUT, "kafka_namespace": namespace, **settings}
    config = Config(service="shop", kafka_bootstrap_servers=servers, **settings)
    (address,) = KafkaTransport.addresses(config)
    async with transport_runner(KafkaTransport.runtimes) as run:
        client = Client(KafkaTransport(config, address), run)
        unwatch = await client.watch_loop()
        before = open_files()
        try:
            with quiet_process():
                yield client
                watch = Stopwatch()
                with anyio.fail_after(10):
                    await run(client.transport.aclose)
                assert watch.own_seconds < 0.5, "closing took its time"
                assert not await client.wait_tasks_ended(), "tasks are left"
                assert not await wait_files_closed(before), "files are left open"
                gc.collect()
        finally:
            with anyio.CancelScope(shield=True):
                await run(client.transport.aclose)
            unwatch()
        assert not client.problems, f"the application's exception handler heard of {client.problems}"
