"""The outages of real servers, made once, while nine agents report to them: one for each transport and event loop.

The steps, by the names under which the agents' answers are kept:

burst     OAP and broker are frozen, a batch is under way, more is recorded than the queue takes
thawed    they go on
settled   nothing waits any more; the servers' records are read
killed    the OAP is killed with signal 9, the broker ends by itself because its disk is full
reopened  both are up again, the OAP slowly
second    nothing waits any more; the servers' records are read
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from e2e import samples
from e2e.graphql import OapQuery
from faults.driving import Answer, Fleet
from faults.matrix import Cell
from faults.servers.story import Story, ids_of
from kit.kafka_cluster import Cluster
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka
from kit.real.oap import Oap
from kit.real.ports import is_listening

QUEUE = 500
BURST = 2 * QUEUE
RATE = 20
PATIENCE = 31.0
REQUEST_TIMEOUT = 2.0
# beyond which no test waits: a server that has just started may miss the deadline of a call, which costs another rest
LONGEST = 120.0
SLOW_START = 2.0


class Outages:
    """The servers, the agents, and the order of events."""

    def __init__(self, oap: Oap, kafka: Kafka, fleet: Fleet, tools: LoopThread) -> None:
        self.story = Story()
        self._oap = oap
        self._kafka = kafka
        self._fleet = fleet
        self._cluster = Cluster(kafka, tools)
        self._services = {cell: samples.unique("-".join(cell)) for cell in fleet.cells}

    async def run(self) -> Story:
        """All of the steps."""
        await self._start_servers(slowly=False)
        await self._cluster.create_topics()
        await self._ask(do="start", of=self._settings(request_timeout=REQUEST_TIMEOUT, trace_max_buffer_size=QUEUE))
        await self._freeze_and_thaw()
        await self._kill_and_restart()
        await self._ask(do="stop")
        return self.story

    async def _freeze_and_thaw(self) -> None:
        steps = self.story.steps
        await self._ask(do="load", rate=RATE)
        await self._ask(do="wait", what="confirmed", within=20)
        self._pause()
        self.story.mark("frozen")
        await self._ask(do="wait", what="failed", within=10)
        await self._ask(do="record", count=BURST)
        await anyio.sleep(2)  # the probes meet the frozen servers, too
        steps["burst"] = await self._ask(do="look")
        self._resume()
        self.story.mark("thawed")
        steps["thawed"] = await self._ask(do="wait", what="confirmed", within=PATIENCE)
        await self._settle("settled")

    async def _kill_and_restart(self) -> None:
        steps = self.story.steps
        await self._ask(do="load", rate=RATE)
        await self._ask(do="wait", what="confirmed", within=20)
        self._oap.kill()
        self.story.mark("killed")
        self._kafka.fill_disk(room=50_000)
        # the broker's end needs some more to be written
        steps["killed"] = await self._ask(do="record", count=BURST // 2, size=500)
        with anyio.fail_after(30):
            await anyio.to_thread.run_sync(self._kafka.wait, abandon_on_cancel=True)
        self._kafka.kill()  # it has ended; this notes it
        await self._start_servers(slowly=True)
        self.story.mark("reopened")
        steps["reopened"] = await self._ask(do="wait", what="confirmed", within=LONGEST)
        await self._settle("second")

    async def _settle(self, step: str) -> None:
        """Let the agents deliver what they have, and read what the servers have then."""
        await self._ask(do="calm")
        await self._ask(do="wait", what="settled", within=LONGEST)
        self.story.steps[step] = await self._ask(do="look")
        await self._read(step)

    async def _read(self, step: str) -> None:
        await self._cluster.serve()  # a broker that was frozen needs a moment to be let in again
        held = self.story.held[step] = {}
        topic = Counter(
            (key or b"").decode() for key, _ in await self._cluster.records(self._cluster.topic("segments"))
        )
        async with OapQuery(self._oap.http_address) as query:
            for cell, service in self._services.items():
                wanted = self.story.ids(step, cell, "confirmed", since="killed")
                held[cell] = topic if cell[0] == "kafka" else await ids_of(query, service, wanted)

    def _settings(self, **more: Any) -> Callable[[Cell], Mapping[str, Any]]:
        def of(cell: Cell) -> Mapping[str, Any]:
            transport, _ = cell
            where = self._oap.http_address if transport == "http" else self._oap.grpc_address
            names = {"service": self._services[cell], "protocol": transport, "collector": where}
            broker = {"kafka_bootstrap_servers": [self._kafka.address], "kafka_namespace": self._cluster.namespace}
            return {"settings": {**names, **broker, **more}}

        return of

    async def _ask(self, **command: Any) -> dict[Cell, Answer]:
        return await anyio.to_thread.run_sync(partial(self._fleet.ask, **command))

    def _pause(self) -> None:
        self._oap.pause()
        self._kafka.pause()

    def _resume(self) -> None:
        self._oap.resume()
        self._kafka.resume()

    async def _start_servers(self, *, slowly: bool) -> None:
        """Both at the same time.

        :param slowly: the OAP is frozen for a while, just when its port has opened
        """
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, self._oap.start)
            group.start_soon(self._cluster.serve)
            if slowly:
                while not is_listening(self._oap.ports[0]):  # noqa: ASYNC110  (another process's start)
                    await anyio.sleep(0.05)
                self._oap.pause()
                await anyio.sleep(SLOW_START)
                self._oap.resume()
